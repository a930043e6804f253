#include "functions/pool/lane.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "node/process/passed_descriptors.h"

namespace wq::functions::pool {

namespace {

constexpr int most_useless = 5;

// How long a lane waits for a process that cannot be had: for other programs of the user, mostly.
constexpr Duration first_pause = std::chrono::milliseconds(10);
constexpr Duration longest_pause = std::chrono::seconds(1);
constexpr Duration longest_shortage = std::chrono::minutes(1);

bool is_shortage(int error) {
    return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

std::string reason(int error) {
    std::string why = strerror(error);
    if (error == EMFILE || error == ENFILE) why += " (raise `ulimit -n`)";
    if (error == EAGAIN) why += " (raise `ulimit -u`, or the limit of processes of the control group)";
    return why;
}
Error cannot_ask(int error) {
    return {ExitCode::unreachable, "got no process: " + reason(error)};
}
std::string cannot_fork(int error) {
    return "could not be forked: " + reason(error);
}

std::string end_text(int status) {
    if (WIFEXITED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
    const int signal = WTERMSIG(status);
    const char* const name = sigabbrev_np(signal);
    const char* const meaning = sigdescr_np(signal);
    std::string text =
        "was killed by " + (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal));
    if (meaning != nullptr) text += std::string(" (") + meaning + ")";
    if (signal == SIGKILL) text += ", maybe by the kernel because no memory was left";
    return text;
}

}  // namespace

JobLane::~JobLane() {
    for (Job& job : unfinished_) abandon(job);
}

bool JobLane::has_room() const {
    const std::lock_guard lock(mutex_);
    return has_room_locked();
}

bool JobLane::has_room_locked() const {
    // While it waits to begin again, only some of its jobs may be in the ring.
    return state_ != State::gone && !broken_ && !begin_at_ && jobs_ && jobs_->waiting() < options_.queue;
}

Result<Sent> JobLane::give(Job& job, Batch& batch) {
    const std::lock_guard lock(mutex_);
    if (!has_room_locked()) return Sent::no_room;  // the worker has died meanwhile
    unfinished_.emplace_back();
    for (const std::shared_ptr<Block>& block : job.blocks) block->add_user();
    const auto take_back = [&] {
        for (const std::shared_ptr<Block>& block : job.blocks) Block::drop_user(block);
        unfinished_.pop_back();
    };
    // The worker may change in place what nobody else sees, so nobody else sees it before the worker does.
    const auto give_up_batch = [&] {
        if (options_.retries > 0) {
            for (const std::shared_ptr<Block>& block : job.blocks) block->add_user();
            job.held = true;
        }
        batch.clear();
    };
    try {
        auto sent = send_message(*jobs_, socket_.get(), job.head, job.payload, job.blocks, give_up_batch);
        if (!sent || *sent != Sent::yes) {
            take_back();
            return sent;
        }
    } catch (...) {
        take_back();
        throw;
    }
    unfinished_.back() = std::move(job);
    memory_->page().bell.ring();
    return Sent::yes;
}

void JobLane::set_session(std::uint64_t session) {
    const std::lock_guard lock(mutex_);
    session_ = session;
    if (memory_) memory_->page().session.store(session, std::memory_order_relaxed);
}

std::string JobLane::describe_end() const {
    const std::lock_guard lock(mutex_);
    return "worker " + std::to_string(options_.worker) + " " + why_;
}

std::string JobLane::describe() const {
    const std::lock_guard lock(mutex_);
    constexpr std::array<const char*, 3> states{"starting", "up", "gone"};
    std::string text =
        "worker " + std::to_string(options_.worker) + ": " + states[static_cast<std::size_t>(state_)];
    if (pid_ > 0) text += ", pid " + std::to_string(pid_);
    text += ", " + std::to_string(jobs_ ? jobs_->waiting() : 0) + " of " + std::to_string(options_.queue) +
            " jobs wait, " + std::to_string((results_ ? results_->waiting() : 0) + kept_.size()) +
            " results wait, " + std::to_string(done_) + " jobs done, " + std::to_string(failed_) + " failed";
    if (deaths_ > 0) text += ", died " + std::to_string(deaths_) + " times; the last one " + why_;
    return text;
}

void JobLane::begin() {
    const std::lock_guard lock(mutex_);
    begin_locked();
}

void JobLane::begin_locked() {
    state_ = State::starting;
    begin_at_.reset();
    if (memory_ && memory_->page().ready.load() != 0) was_up_ = true;
    const Status asked = ask_for_process();
    process_ = asked.ok();
    if (!process_) try_later(asked.error().message);
}

std::optional<Instant> JobLane::begins_at() const {
    const std::lock_guard lock(mutex_);
    return begin_at_;
}

void JobLane::begin_if_due(Instant now) {
    const std::lock_guard lock(mutex_);
    if (begin_at_ && now >= *begin_at_) begin_locked();
}

void JobLane::try_later(const std::string& why) {
    why_ = why;
    process_ = false;
    const Instant now = instant_now();
    if (!short_since_) {
        short_since_ = now;
        pause_ = first_pause;
    }
    if (was_up_ && !stopping_ && now - *short_since_ < longest_shortage) {
        begin_at_ = now + pause_;
        pause_ = std::min(2 * pause_, longest_pause);
        return;
    }
    state_ = State::gone;
    fail_all("worker " + std::to_string(options_.worker) + " " + why);
}

Status JobLane::ask_for_process() {
    const RingShape jobs = RingShape::of(options_.queue + 1);  // one that is tried again, besides
    auto memory = PageMemory::make({jobs, RingShape::of(options_.queue)});
    if (!memory) return memory.error();
    Descriptor ends[2];
    if (!socket_pair(ends)) return cannot_ask(errno);
    memory_ = std::move(*memory);
    Page& page = memory_->page();
    page.seed = options_.seed;
    page.memory_to_keep = options_.memory_to_keep;
    page.worker = options_.worker;
    page.session = session_;
    page.taker_waits = taker_waits_ ? 1 : 0;
    jobs_.emplace(page.jobs, memory_->jobs(), page.shape.jobs);
    results_.emplace(page.results, memory_->results(), page.shape.results);
    socket_ = std::move(ends[0]);
    broken_ = false;
    life_ = ++links_.lives;
    pid_ = 0;
    Request request;
    request.lane = static_cast<std::uint32_t>(options_.worker);
    request.life = life_;
    request.function = links_.function;
    const std::array<int, 3> files{memory_->descriptor(), ends[1].get(), links_.doorbell};
    if (Status sent = resend(); !sent) return sent;
    if (!node::process::send_descriptors(links_.control, node::process::bytes_of_value(request), files))
        return cannot_ask(errno);
    return success();
}

// The blocks of jobs that wait have the dead process's users, which are the new one's then.
Status JobLane::resend() {
    for (Job& job : unfinished_) {
        const auto sent = send_message(*jobs_, socket_.get(), job.head, job.payload, job.blocks);
        if (!sent) return sent.error();
        if (*sent != Sent::yes) return cannot_ask(ETOOMANYREFS);
    }
    return success();
}

bool JobLane::has_result() const {
    const std::lock_guard lock(mutex_);
    return !kept_.empty() || (results_ && !broken_ && !results_->empty());
}

std::optional<FinishedJob> JobLane::next_result() {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) {
        std::optional<FinishedJob> first(std::move(kept_.front()));
        kept_.pop_front();
        return first;
    }
    return read_result();
}

std::optional<FinishedJob> JobLane::read_result() {
    if (!results_ || broken_ || results_->empty()) return std::nullopt;
    auto message = results_->waiting() <= options_.queue && !unfinished_.empty()
                       ? receive_message<ResultHead>(*results_, socket_.get())
                       : std::nullopt;
    if (!message || message->head.job != unfinished_.front().head.job) {
        break_off();
        return std::nullopt;
    }
    results_->taken();
    memory_->page().bell.ring();
    const ResultHead& head = message->head;
    Job job = std::move(unfinished_.front());
    unfinished_.pop_front();
    let_go(job);
    useless_ = 0;
    FinishedJob result;
    result.metadata = {
        time_of(job.created), time_of(head.begun), time_of(head.processed), time_of(head.queued), {},
        job.head.job,         job.head.session,    options_.worker,         job.head.attempt};
    result.outcome = head.outcome;
    if (message->problem.empty()) {
        result.bytes = std::move(message->bytes);
        result.start = message->start;
        result.blocks = std::move(message->blocks);
    } else {
        // After stop() arrays do not come, and nobody waits for the result.
        result.outcome = stopping_ ? Outcome::not_run : Outcome::error;
        result.bytes = std::move(message->problem);
    }
    ++(result.outcome == Outcome::error ? failed_ : done_);
    return result;
}

void JobLane::break_off() {
    broken_ = true;
    ask_for_kill();
}

void JobLane::ask_for_kill() const {
    const Request request{Request::Kind::kill, static_cast<std::uint32_t>(options_.worker), life_, {}};
    node::process::send_descriptors(links_.control, node::process::bytes_of_value(request), {});
}

void JobLane::kill() {
    const std::lock_guard lock(mutex_);
    if (process_) break_off();
}

void JobLane::let_go(Job& job) {
    if (!std::exchange(job.held, false)) return;
    for (const std::shared_ptr<Block>& block : job.blocks) Block::drop_user(block);
}

void JobLane::on(const ZygoteReport& report) {
    const std::lock_guard lock(mutex_);
    if (report.life != life_) return;
    switch (report.kind) {
        case ZygoteReport::Kind::forked:
            pid_ = report.pid;
            short_since_.reset();
            return;
        case ZygoteReport::Kind::not_forked:
            if (is_shortage(report.value)) return try_later(cannot_fork(report.value));
            return died(
                report.value == ENOEXEC
                    ? std::string("cannot run the function, which is in a library that was loaded after the "
                                  "MpiSession began")
                    : cannot_fork(report.value),
                Ran::never);
        case ZygoteReport::Kind::zygote_lost:
            return;
        case ZygoteReport::Kind::ended:
            return died(broken_ && WIFSIGNALED(report.value) && WTERMSIG(report.value) == SIGKILL
                            ? stopping_
                                  ? "was killed at the end"
                                  : "was killed by SIGKILL, as it had damaged the memory that it shares "
                                    "with the program"
                            : end_text(report.value),
                        Ran::perhaps);
    }
}

void JobLane::lose_process() {
    const std::lock_guard lock(mutex_);
    if (!process_) return;
    ask_for_kill();  // the next zygote may yet read the request for this process
    died("was killed with the process that starts workers", Ran::perhaps);
}

void JobLane::lose(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::gone) return;
    drain();
    process_ = false;
    pid_ = 0;
    state_ = State::gone;
    why_ = why;
    fail_all("worker " + std::to_string(options_.worker) + " is lost: " + why);
}

// All that it had published counts.
void JobLane::drain() {
    while (auto result = read_result()) kept_.push_back(std::move(*result));
}

// A worker that has spoiled its memory did so in a job.
bool JobLane::has_begun_job() const {
    if (unfinished_.empty()) return false;
    const std::size_t waiting = jobs_->waiting();
    return unfinished_.size() > waiting || waiting > options_.queue + 1;
}

void JobLane::died(const std::string& why, Ran ran) {
    drain();
    process_ = false;
    pid_ = 0;
    why_ = why;
    if (stopping_) {
        state_ = State::gone;
        return;
    }
    ++deaths_;
    const std::string text = "worker " + std::to_string(options_.worker) + " " + why;
    if (ran == Ran::perhaps && has_begun_job()) {
        useless_ = 0;
        Job& job = unfinished_.front();
        const bool again =
            options_.restarts && job.head.attempt <= options_.retries && job.head.session == session_;
        if (again) {
            ++job.head.attempt;
            for (const std::shared_ptr<Block>& block : job.blocks) {
                Block::abandon(block);  // by the dead process
                block->add_user();
            }
        } else {
            kept_.push_back(failed(job, text));
            unfinished_.pop_front();
        }
    } else {
        ++useless_;
    }
    const char* const stays = !options_.restarts ? ", and is not started again"
                              : useless_ >= most_useless
                                  ? ", 5 times in a row before a job, and is not started again"
                                  : nullptr;
    if (stays == nullptr) return begin_locked();
    state_ = State::gone;
    why_ += stays;
    fail_all(text + stays);
}

// What a dead process had is never dropped.
void JobLane::abandon(Job& job) {
    let_go(job);
    for (const std::shared_ptr<Block>& block : job.blocks) Block::abandon(block);
}

FinishedJob JobLane::failed(Job& job, std::string why) {
    abandon(job);
    ++failed_;
    FinishedJob result;
    result.metadata = {time_of(job.created), {}, {}, {}, {}, job.head.job, job.head.session, options_.worker,
                       job.head.attempt};
    result.outcome = Outcome::error;
    result.bytes = std::move(why);
    return result;
}

void JobLane::fail_all(const std::string& why) {
    for (Job& job : unfinished_) kept_.push_back(failed(job, why));
    unfinished_.clear();
}

void JobLane::set_collector_sleeps(bool sleeps) {
    const std::lock_guard lock(mutex_);
    if (memory_) memory_->page().collector_sleeps.store(sleeps ? 1 : 0, std::memory_order_seq_cst);
}

void JobLane::set_taker_waits(bool waits) {
    const std::lock_guard lock(mutex_);
    taker_waits_ = waits;
    if (memory_) memory_->page().taker_waits.store(waits ? 1 : 0, std::memory_order_seq_cst);
}

bool JobLane::must_be_moved() const {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) return true;
    if (!results_ || broken_ || results_->empty()) return false;
    return taker_waits_ || results_->waiting() >= options_.queue;
}

void JobLane::stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    begin_at_.reset();
    if (!process_) {
        state_ = State::gone;
        return;
    }
    memory_->page().stopping.store(1, std::memory_order_seq_cst);
    memory_->page().bell.ring();
    shutdown(socket_.get(), SHUT_RDWR);
}

JobLane::State JobLane::state() {
    const std::lock_guard lock(mutex_);
    if (state_ == State::starting && memory_ && memory_->page().ready.load() != 0) state_ = State::up;
    return state_;
}

bool all_are_gone(const JobLanes& lanes) {
    return std::all_of(lanes.begin(), lanes.end(),
                       [](const auto& lane) { return lane->state() == JobLane::State::gone; });
}

}  // namespace wq::functions::pool
