// The calls of a coprocess.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/remove_tree.h"
#include "coprocess/coprocess.h"

namespace wq::coprocess {

namespace {

// If the link ends without an answer, the process usually ends, too: then its status says why.
constexpr Duration end_limit = std::chrono::seconds(1);

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

}  // namespace

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
    until_.reset();
    if (order_->timeout > Duration{0}) until_ = now + order_->timeout;
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

}  // namespace wq::coprocess
