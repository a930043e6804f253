#include "coprocess/coprocess.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/random_bits.h"
#include "base/remove_tree.h"
#include "base/units.h"

namespace wq::coprocess {

namespace {

// How often its usage is sampled.
constexpr Duration look_while_busy = std::chrono::milliseconds(500);
constexpr Duration look_while_idle = std::chrono::seconds(5);
// If the link ends without an answer, the process usually ends, too: then its status says why.
constexpr Duration end_limit = std::chrono::seconds(1);

std::string random_secret() {
    std::string text;
    for (int word = 0; word < 2; ++word) {
        std::uint64_t bits = random_bits();
        for (int digit = 0; digit < 16; ++digit, bits >>= 4) text += "0123456789abcdef"[bits & 15];
    }
    return text;
}

std::string end_text(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        return "signal " + std::to_string(signal) + " (" + core::signal_name(signal) + ")";
    }
    return "exit " + std::to_string(WEXITSTATUS(status));
}

bool would_block(int error) {
    return error == EAGAIN || error == EINTR || error == EINPROGRESS;
}

Descriptor connection_to(std::uint16_t port) {
    Descriptor link(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    ::setsockopt(link.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (link.valid() && ::connect(link.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 &&
        errno != EINPROGRESS)
        link.reset();
    return link;
}

// A Python file needs no permission to be executed.
std::vector<std::string> words_for(const std::string& file) {
    if (file.ends_with(".py") && ::access(file.c_str(), X_OK) != 0) return {"python3", file};
    return {file};
}

process::CommandHost::Style host_style(const CoprocessOptions& options) {
    process::CommandHost::Style style;
    style.program = "work_queue_coprocess";
    style.fork = options.fork;
    return style;
}

pollfd polled(const Descriptor& descriptor, short events) {
    return {descriptor.get(), events, 0};
}

}  // namespace

Coprocess::Coprocess(CoprocessOptions options) : options_(std::move(options)), host_(host_style(options_)) {}

Coprocess::~Coprocess() {
    stop();
}

// ---- its process ----

void Coprocess::start(Instant now) {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return fall(std::string("no descriptor for it: ") + std::strerror(errno));
    output_.reset(ends[0]);
    const Descriptor theirs(ends[1]);
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    secret_ = random_secret();
    auto folder = process::ScratchFolder::make(options_.folder);
    if (!folder) return fall("no folder in " + options_.folder + ": " + std::strerror(errno));
    folder_ = std::move(*folder);
    host_.remove_at_end(folder_.path());
    // The host has only stdin to pass on: here its stdout as well.
    process::CommandLine line{
        "/bin/sh", {"sh", "-c", "cd \"$0\" && exec \"$@\" >&0 </dev/null 2>stderr", folder_.path()}, {}};
    for (std::string& word : words_for(options_.file)) line.words.push_back(std::move(word));
    line.environment = options_.environment;
    line.environment.push_back(std::string(secret_variable) + "=" + secret_);
    try {
        if (const Status started = host_.start(line, theirs.get()); !started)
            return fall(started.error().message);
    } catch (const std::runtime_error& trouble) {
        return fall(trouble.what());
    }
    state_ = State::greeting;
    has_worked_ = link_lost_ = false;
    first_output_ = LengthReader(64u << 10);
    until_ = now + options_.greeting_limit;
    share_watch_.emplace(options_.share, folder_.path());
    next_look_ = now + look_while_busy;
}

void Coprocess::stop() {
    host_.end_command();
    folder_.remove();
    output_.reset();
    link_.reset();
    order_.reset();
    until_.reset();
    next_look_.reset();
    state_ = State::down;
}

void Coprocess::fall(std::string why) {
    why_down_ = std::move(why);
    remove_task_folder();
    stop();
}

Coprocess::Polled Coprocess::descriptors() const {
    const Descriptor none;
    Polled all{pollfd{state_ == State::down ? -1 : host_.descriptor(), POLLIN, 0}, polled(output_, POLLIN),
               polled(link_, POLLIN)};
    if (sent_ < to_send_.size()) all[2].events |= POLLOUT;
    return all;
}

void Coprocess::turn(const Polled& polled, Instant now) {
    if (state_ == State::down) return;
    if (polled[1].revents != 0) state_ == State::greeting ? greet(now) : drain_output();
    if (polled[2].revents != 0 && link_.valid()) exchange(polled[2].revents, now);
    if ((polled[0].revents != 0 || host_.has_end()) && state_ != State::down) process_ended(now);
    if (state_ != State::down) watch(now);
    if (state_ != State::down) check_times(now);
}

void Coprocess::greet(Instant now) {
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(output_.get(), bytes.data(), bytes.size());
    if (got < 0 && would_block(errno)) return;
    if (got <= 0) return output_.reset();  // it has probably ended, which the host tells
    first_output_.feed({bytes.data(), static_cast<std::size_t>(got)});
    if (first_output_.broken()) return fail({}, "its first output is no length and JSON object", now);
    if (!first_output_.complete()) return;
    const auto greeting = greeting_in(first_output_.body());
    if (!greeting) return fail({}, greeting.error().message, now);
    greeting_ = *greeting;
    state_ = State::idle;
    until_.reset();
    next_look_ = now + look_while_idle;
}

// What functions print is not ours.
void Coprocess::drain_output() {
    std::array<char, 65536> bytes;
    const ssize_t got = ::read(output_.get(), bytes.data(), bytes.size());
    if (got == 0 || (got < 0 && !would_block(errno))) output_.reset();
}

void Coprocess::process_ended(Instant now) {
    const auto ended = host_.next_end();
    // It may have answered before.
    if (state_ == State::busy && link_.valid()) receive_more(now);
    const std::string how = ended ? "ended with " + end_text(ended->status) : "was killed with its parent";
    const std::string words = last_words();
    if (state_ != State::busy) return fall("it " + how + (words.empty() ? "" : ": " + words));
    core::Outcome outcome = outcome_at(now);
    outcome.ending = core::Ending::raised;
    outcome.exit_code = 1;
    outcome.reason = "its coprocess " + how + " before the function returned";
    if (ended && WIFSIGNALED(ended->status)) {
        outcome.ending = core::Ending::signalled;
        outcome.signal = WTERMSIG(ended->status);
        outcome.exit_code = 0;
        outcome.reason = "its coprocess ended with it";
    } else if (ended && WEXITSTATUS(ended->status) != 0) {
        outcome.exit_code = WEXITSTATUS(ended->status);
    }
    report(std::move(outcome), "");
    fall("it " + how);
}

// ---- a call ----

void Coprocess::call(RemoteOrder order, Instant now) {
    order_ = std::move(order);
    has_worked_ = true;
    called_ = now;
    called_us_ = wall_now();
    core::CallMode& mode = order_->mode;
    auto event = with_mode(order_->event, mode);
    std::string refusal = event ? "" : event.error().message;
    if (!is_function_name(order_->function)) refusal = "a function's name has 1 to 200 bytes and no blank";
    if (refusal.empty()) refusal = make_task_folder().value_or("");
    if (!refusal.empty()) {
        core::Outcome outcome;
        core::set_not_started(outcome, refusal);
        return report(std::move(outcome), "");
    }
    share_watch_->begin_anew();
    share_watch_->limit_memory(order_->memory_mb);
    to_send_ = greeting_.guarded ? secret_ + "\n" : "";
    to_send_ += call_line(order_->function, order_->task.value(), event->size()) + *event;
    order_->event.clear();
    sent_ = 0;
    answer_ = LengthReader(core::most_output_limit);
    link_lost_ = false;
    state_ = State::busy;
    until_ = now + (order_->timeout > Duration{0} ? order_->timeout : options_.call_limit);
    next_look_ = now + look_while_busy;
    link_ = connection_to(greeting_.port);
    if (!link_.valid()) link_ended(now);
}

void Coprocess::exchange(short events, Instant now) {
    if ((events & POLLOUT) != 0) send_more();
    if ((events & ~POLLOUT) != 0 && link_.valid()) receive_more(now);
}

void Coprocess::send_more() {
    while (sent_ < to_send_.size()) {
        const ssize_t sent =
            ::send(link_.get(), to_send_.data() + sent_, to_send_.size() - sent_, MSG_NOSIGNAL);
        if (sent < 0 && would_block(errno)) return;
        if (sent < 0) break;  // receive_more() notices
        sent_ += static_cast<std::size_t>(sent);
    }
    to_send_.clear();
    sent_ = 0;
}

void Coprocess::receive_more(Instant now) {
    std::array<char, 65536> bytes;
    for (;;) {
        const ssize_t got = ::recv(link_.get(), bytes.data(), bytes.size(), 0);
        if (got < 0 && would_block(errno)) return;
        if (got <= 0) return link_ended(now);
        if (state_ == State::clearing) continue;
        answer_.feed({bytes.data(), static_cast<std::size_t>(got)});
        if (answer_.broken()) return fail(core::Ending::raised, "its coprocess sent no answer", now);
        if (answer_.complete()) return finish_with_answer(now);
    }
}

void Coprocess::link_ended(Instant now) {
    link_.reset();
    to_send_.clear();
    sent_ = 0;
    if (state_ == State::clearing) {
        state_ = State::idle;
        until_.reset();
        return;
    }
    link_lost_ = true;
    until_ = now + end_limit;
}

void Coprocess::finish_with_answer(Instant now) {
    core::Outcome outcome = outcome_at(now);
    std::string output;
    take_answer(answer_.words(), std::move(answer_.body()), outcome, output);
    report(std::move(outcome), std::move(output));
}

core::Outcome Coprocess::outcome_at(Instant now) const {
    core::Outcome outcome;
    outcome.started_us = called_us_;
    outcome.wall_us = (now - called_) / std::chrono::microseconds(1);
    return outcome;
}

void Coprocess::finish(core::Ending ending, std::string reason, Instant now) {
    core::Outcome outcome = outcome_at(now);
    outcome.ending = ending;
    outcome.exit_code = ending == core::Ending::raised ? 1 : 0;
    outcome.reason = std::move(reason);
    report(std::move(outcome), "");
}

// `output` "": the answer that a program expects is made from the outcome.
void Coprocess::report(core::Outcome outcome, std::string output) {
    if (output.empty()) output = failure_text(core::describe(outcome));
    outcome.stdout_bytes = output.size();
    ended_ = launcher::TaskEnded{order_->task, order_->attempt, std::move(outcome), {std::move(output), {}}};
    remove_task_folder();
    order_.reset();
    link_.reset();
    to_send_.clear();
    sent_ = 0;
    state_ = State::idle;
    until_.reset();
}

void Coprocess::fail(core::Ending ending, const std::string& why, Instant now) {
    if (state_ == State::busy) finish(ending, why, now);
    fall(why);
}

void Coprocess::end_call(core::Ending ending, std::string reason, Instant now) {
    if (state_ != State::busy) return;
    const bool kills_it_itself =
        greeting_.guarded && order_->mode == core::CallMode::fork && link_.valid() && to_send_.empty();
    if (!kills_it_itself) {
        finish(ending, std::move(reason), now);
        return fall("its call was ended");
    }
    Descriptor link = std::move(link_);
    finish(ending, std::move(reason), now);
    ::shutdown(link.get(), SHUT_WR);
    link_ = std::move(link);
    state_ = State::clearing;
    until_ = now + options_.kill_limit;
}

std::optional<launcher::TaskEnded> Coprocess::take_ended() {
    return std::exchange(ended_, std::nullopt);
}

// ---- the task's folder ----

std::optional<std::string> Coprocess::make_task_folder() {
    const std::string path = task_folder();
    const bool made = order_->sandbox.empty() ? ::mkdir(path.c_str(), 0700) == 0
                                              : ::symlink(order_->sandbox.c_str(), path.c_str()) == 0;
    if (made || errno == EEXIST) return std::nullopt;
    return "no folder for the task: " + std::string(std::strerror(errno));
}

void Coprocess::remove_task_folder() {
    if (order_) remove_tree(AT_FDCWD, task_folder());
}

std::string Coprocess::task_folder() const {
    return folder_.path() + "/t." + std::to_string(order_->task.value());
}

// The last line that it wrote to stderr, such as the exception that ended it; "": none.
std::string Coprocess::last_words() const {
    const Descriptor file(::open((folder_.path() + "/stderr").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    std::array<char, 500> bytes;
    const off_t size = file.valid() ? ::lseek(file.get(), 0, SEEK_END) : 0;
    const off_t from = std::max<off_t>(size - static_cast<off_t>(bytes.size()), 0);
    const ssize_t got = size > 0 ? ::pread(file.get(), bytes.data(), bytes.size(), from) : 0;
    std::string text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.find_last_of('\n') + 1);
}

// ---- times and usage ----

void Coprocess::watch(Instant now) {
    if (!next_look_ || now < *next_look_) return;
    next_look_ = now + (state_ == State::idle ? look_while_idle : look_while_busy);
    const auto more = share_watch_->sample(host_.pid(), now);
    if (!more) return;
    if (state_ == State::busy) {
        core::Outcome outcome = outcome_at(now);
        outcome.ending = more->ending;
        outcome.reason = more->reason;
        outcome.measured = more->measured;
        report(std::move(outcome), "");
    }
    fall(more->reason);
}

void Coprocess::check_times(Instant now) {
    if (!until_ || now < *until_) return;
    const auto limit = [](Duration time) { return format_duration(time); };
    if (state_ == State::greeting)
        return fail({}, "it did not name itself within " + limit(options_.greeting_limit), now);
    if (state_ == State::clearing) return fall("it did not end a call within " + limit(options_.kill_limit));
    if (state_ != State::busy) return;
    if (link_lost_)
        return fail(core::Ending::raised, "its coprocess closed the connection without an answer", now);
    end_call(
        core::Ending::timed_out,
        order_->timeout > Duration{0} ? "" : "no call may take longer than " + limit(options_.call_limit),
        now);
}

std::optional<Instant> Coprocess::wakeup() const {
    std::optional<Instant> next = until_;
    earliest(next, next_look_);
    return next;
}

}  // namespace wq::coprocess
