// The calls of a coprocess.

#include "functions/coprocess/coprocess.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/random_bits.h"
#include "base/units.h"
#include "node/process/python.h"

namespace wq::functions::coprocess {

namespace {

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
        return "signal " + std::to_string(signal) + " (" + engine::model::signal_name(signal) + ")";
    }
    return "exit " + std::to_string(WEXITSTATUS(status));
}

// A Python file needs no permission to be executed. One that leaves the Python to PATH leaves it to us, too.
bool needs_python(const std::string& file) {
    if (::access(file.c_str(), X_OK) != 0) return file.ends_with(".py");
    std::string line;
    std::getline(std::ifstream(file), line);
    return line == "#!/usr/bin/env python3" || line == "#! /usr/bin/env python3";
}

// What starts it; an error if it needs a Python that cannot be executed.
Result<std::vector<std::string>> words_for(const std::string& file) {
    if (!needs_python(file)) return std::vector{file};
    const char* const path = std::getenv("PATH");
    const std::string python = node::process::find_python({"python3"}, path == nullptr ? "" : path);
    if (python.empty())
        return Error{ExitCode::bad_input, "no python3 in PATH; install one, or set WORK_QUEUE_PYTHON"};
    if (::access(python.c_str(), X_OK) != 0)
        return Error{ExitCode::bad_input, "cannot execute " + python + ": " + std::strerror(errno) +
                                              node::process::chooser_of_python()};
    return std::vector{python, file};
}

node::process::CommandHost::Style host_style(const CoprocessOptions& options) {
    node::process::CommandHost::Style style;
    style.program = "work_queue_coprocess";
    style.fork = options.fork;
    return style;
}

}  // namespace

Coprocess::Coprocess(CoprocessOptions options) : options_(std::move(options)), host_(host_style(options_)) {}

Coprocess::~Coprocess() {
    host_.end_command();
    folder_.remove();
}

// ---- its process ----

void Coprocess::start(Instant now) {
    try {
        launch(now);
    } catch (const std::exception& trouble) {
        end(trouble.what());
    }
}

void Coprocess::launch(Instant now) {
    has_worked_ = link_lost_ = false;
    orphans_.forget();
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return end(std::string("no descriptor for it: ") + std::strerror(errno));
    output_.reset(ends[0]);
    const Descriptor theirs(ends[1]);
    set_nonblocking(output_);
    secret_ = random_secret();
    auto folder = node::process::ScratchFolder::make(options_.folder);
    if (!folder) return end("no folder in " + options_.folder + ": " + std::strerror(errno));
    folder_ = std::move(*folder);
    host_.remove_at_end(folder_.path());
    const std::string temporary = folder_.path() + "/tmp";
    if (::mkdir(temporary.c_str(), 0700) != 0) return end(temporary + ": " + std::strerror(errno));
    // The host has only stdin to pass on: here its stdout as well.
    node::process::CommandLine line{
        "/bin/sh", {"sh", "-c", "cd \"$0\" && exec \"$@\" >&0 </dev/null 2>>stderr", folder_.path()}, {}};
    const auto words = words_for(options_.file);
    if (!words) return end(words.error().message);
    python_ = words->size() > 1 ? words->front() : "";
    line.words.insert(line.words.end(), words->begin(), words->end());
    line.environment = options_.environment;
    std::erase_if(line.environment, [](const std::string& entry) { return entry.starts_with("TMPDIR="); });
    line.environment.push_back("TMPDIR=" + temporary);
    line.environment.push_back(std::string(secret_variable) + "=" + secret_);
    if (const Status started = host_.start(line, theirs.get()); !started) return end(started.error().message);
    state_ = State::greeting;
    first_output_ = LengthReader(64u << 10);
    until_ = now + options_.greeting_limit;
    share_watch_.emplace(options_.share, folder_.path());
    next_look_ = now + look_while_busy;
}

void Coprocess::end(std::string why) {
    why_down_ = std::move(why);
    output_.reset();
    link_.close();
    until_.reset();
    next_look_.reset();
    if (host_.descriptor() < 0) return finish_end();
    host_.shut_down();
    state_ = State::ending;
}

// Its host is gone, or was never there.
void Coprocess::finish_end() {
    host_.end_command();
    folder_.remove();
    state_ = State::down;
    give_report();
}

Coprocess::Polled Coprocess::descriptors() const {
    const pollfd none{-1, 0, 0};
    if (state_ == State::down) return {none, none, none};
    // The host has ended when it hangs up, which poll() reports unasked.
    if (state_ == State::ending) return {pollfd{host_.descriptor(), 0, 0}, none, none};
    return {pollfd{host_.descriptor(), POLLIN, 0}, pollfd{output_.get(), POLLIN, 0}, link_.polled()};
}

void Coprocess::run_turn(const Polled& polled, Instant now) try {
    if (state_ == State::ending && (polled[0].revents & ~POLLIN) != 0) return finish_end();
    if (state_ == State::down || state_ == State::ending) return;
    if (polled[1].revents != 0) state_ == State::greeting ? greet(now) : drain_output();
    if (polled[2].revents != 0 && link_.state() == CallLink::State::open) {
        link_.move_bytes(polled[2].revents);
        look_at_link(now);
    }
    const auto runs = [this] { return state_ != State::down && state_ != State::ending; };
    if ((polled[0].revents != 0 || host_.has_end()) && runs()) process_ended(now);
    if (state_ == State::tidying) tidy();
    if (runs()) watch(now);
    if (runs()) check_times(now);
} catch (const std::exception& trouble) {  // such as no memory for an answer
    fail(engine::model::Ending::raised,
         std::string("the worker has a problem with its coprocess: ") + trouble.what(), now);
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
    if (state_ == State::busy && link_.state() == CallLink::State::open) {
        link_.receive_all();
        look_at_link(now);
    }
    if (state_ == State::ending) return;
    const std::string how = ended ? "ended with " + end_text(ended->status) : "was killed with its parent";
    const std::string words = last_line_of_stderr(folder_.path());
    if (state_ != State::busy)
        return end((python_.empty() ? "it " : "its Python, " + python_ + ", ") + how +
                   (words.empty() ? "" : ": " + words) +
                   (python_.empty() ? "" : node::process::chooser_of_python()));
    engine::model::Outcome outcome = outcome_at(now);
    outcome.ending = engine::model::Ending::raised;
    outcome.exit_code = 1;
    outcome.reason = "its coprocess " + how + " before the function returned";
    if (ended && WIFSIGNALED(ended->status)) {
        outcome.ending = engine::model::Ending::signalled;
        outcome.signal = WTERMSIG(ended->status);
        outcome.exit_code = 0;
        outcome.reason = "its coprocess ended with it";
    } else if (ended && WEXITSTATUS(ended->status) != 0) {
        outcome.exit_code = WEXITSTATUS(ended->status);
    }
    conclude(std::move(outcome), "");
    end("it " + how);
}

// ---- times and usage ----

void Coprocess::watch(Instant now) {
    if (!next_look_ || now < *next_look_) return;
    next_look_ = now + (state_ == State::idle ? look_while_idle : look_while_busy);
    const auto more = share_watch_->sample(host_.pid(), now, state_ == State::greeting);
    if (!more) return;
    if (state_ == State::busy) {
        engine::model::Outcome outcome = outcome_at(now);
        outcome.ending = more->ending;
        outcome.reason = more->reason;
        outcome.measured = more->measured;
        conclude(std::move(outcome), "");
    }
    end(more->reason);
}

void Coprocess::check_times(Instant now) {
    if (!until_ || now < *until_) return;
    const auto limit = [](Duration time) { return format_duration(time); };
    if (state_ == State::greeting)
        return fail({}, "it did not name itself within " + limit(options_.greeting_limit), now);
    if (state_ == State::clearing) return end("it did not end a call within " + limit(options_.kill_limit));
    if (state_ != State::busy) return;
    if (link_lost_)
        return fail(engine::model::Ending::raised, "its coprocess closed the connection without an answer",
                    now);
    end_call(engine::model::Ending::timed_out, "", now);
}

std::optional<Instant> Coprocess::wakeup() const {
    if (state_ == State::tidying) return Instant::min();
    std::optional<Instant> next = until_;
    earliest(next, next_look_);
    return next;
}

namespace {

// If the link ends without an answer, the process usually ends, too: then its status says why.
constexpr Duration end_limit = std::chrono::seconds(1);

}  // namespace

void Coprocess::call(RemoteOrder order, Instant now) {
    order_ = std::move(order);
    has_worked_ = true;
    link_lost_ = false;
    called_ = now;
    called_us_ = wall_now();
    try {
        begin_call(now);
    } catch (const std::exception& trouble) {  // no memory for a large event
        finish(engine::model::Ending::raised,
               std::string("the worker cannot send the call: ") + trouble.what(), now);
        become_idle();
    }
}

void Coprocess::begin_call(Instant now) {
    const auto refuse = [this](const std::string& why) {
        engine::model::Outcome outcome;
        engine::model::set_not_started(outcome, why);
        conclude(std::move(outcome), "");
        become_idle();
    };
    if (!is_function_name(order_->function))
        return refuse("a function's name has 1 to 200 bytes and no blank");
    const auto event = with_mode(order_->event, order_->mode);
    if (!event) return refuse(event.error().message);
    order_->event = {};
    if (const Status made = make_task_folder(folder_.path(), *order_); !made)
        return refuse(made.error().message);
    std::string text = greeting_.guarded ? secret_ + "\n" : "";
    text += call_line(order_->function, order_->task.value(), event->size());
    text += *event;
    if (const Status opened = link_.open(greeting_.port, std::move(text)); !opened)
        return refuse(opened.error().message);
    orphans_.begin_call(host_, order_->mode);
    share_watch_->begin_call(order_->memory_mb, order_->sandbox);
    state_ = State::busy;
    until_.reset();
    if (order_->timeout > Duration{0}) until_ = now + order_->timeout;
    // Not later for each new call: short calls would never be looked at.
    next_look_ = std::min(next_look_.value_or(Instant::max()), now + look_while_busy);
    look_at_link(now);
}

void Coprocess::look_at_link(Instant now) {
    using Link = CallLink::State;
    const bool clears = state_ == State::clearing;
    if (link_.state() == Link::answered && !clears) {
        engine::model::Outcome outcome = outcome_at(now);
        std::string output;
        take_answer(link_.words(), link_.take_answer(), outcome, output);
        conclude(std::move(outcome), std::move(output));
        become_idle();
    } else if (link_.state() == Link::no_answer && !clears) {
        const std::string size = std::to_string(engine::model::most_output_limit >> 20) + " MB";
        const char* const what = "its coprocess sent no answer";
        fail(engine::model::Ending::raised, link_.too_long() ? "its result is larger than " + size : what,
             now);
    } else if (link_.state() == Link::closed && clears) {
        become_idle();
    } else if (link_.state() == Link::closed && !link_lost_) {
        link_lost_ = true;
        until_ = now + end_limit;
    }
}

engine::model::Outcome Coprocess::outcome_at(Instant now) const {
    engine::model::Outcome outcome;
    outcome.started_us = called_us_;
    outcome.wall_us = (now - called_) / std::chrono::microseconds(1);
    return outcome;
}

void Coprocess::finish(engine::model::Ending ending, const std::string& reason, Instant now) {
    engine::model::Outcome outcome = outcome_at(now);
    outcome.ending = ending;
    outcome.exit_code = ending == engine::model::Ending::raised ? 1 : 0;
    outcome.reason = reason;
    conclude(std::move(outcome), "");
}

// What will be reported. `output` "": the answer that a program expects is made from the outcome.
void Coprocess::conclude(engine::model::Outcome outcome, std::string output) {
    if (output.empty()) output = failure_text(engine::model::describe(outcome));
    outcome.stdout_bytes = output.size();
    concluded_ =
        node::launcher::TaskEnded{order_->task, order_->attempt, std::move(outcome), {std::move(output), {}}};
}

void Coprocess::become_idle() {
    orphans_.end_call(host_, order_->mode);
    share_watch_->end_call();
    link_.close();
    until_.reset();
    state_ = State::tidying;
    tidy();
}

// A part of the folder in each turn: a function may leave millions of files.
void Coprocess::tidy() {
    if (!remove_task_folder(folder_.path(), *order_)) return;
    shorten_stderr(folder_.path(), options_.share.disk_mb);
    state_ = State::idle;
    give_report();
}

void Coprocess::give_report() {
    if (!order_) return;
    if (!std::exchange(is_dropped_, false)) ended_ = std::move(concluded_);
    concluded_.reset();
    order_.reset();
}

void Coprocess::fail(engine::model::Ending ending, const std::string& why, Instant now) {
    if (state_ == State::busy) finish(ending, why, now);
    end(why);
}

void Coprocess::end_call(engine::model::Ending ending, const std::string& reason, Instant now) {
    if (state_ != State::busy) return;
    finish(ending, reason, now);
    const bool kills_it_itself = greeting_.guarded && order_->mode == engine::model::CallMode::fork &&
                                 link_.state() == CallLink::State::open && link_.has_sent_all();
    if (!kills_it_itself) return end("its call was ended");
    link_.give_up();
    state_ = State::clearing;
    until_ = now + options_.kill_limit;
}

void Coprocess::drop_call(Instant now) {
    end_call(engine::model::Ending::killed, "", now);
    ended_.reset();
    is_dropped_ = order_.has_value();
}

std::optional<node::launcher::TaskEnded> Coprocess::take_ended() {
    return std::exchange(ended_, std::nullopt);
}

}  // namespace wq::functions::coprocess
