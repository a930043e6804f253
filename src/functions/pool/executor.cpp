// The thread that moves results from the workers to the program, and hears how workers end.

#include "functions/pool/executor.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <ostream>
#include <utility>

#include "base/signals.h"
#include "functions/pool/storage.h"
#include "node/process/process_tree.h"

namespace wq::functions::pool {

namespace {

constexpr Duration last_moment = std::chrono::seconds(1);  // before the time is up, for kills

// Without workers nothing would take results while put() waited for room.
std::size_t results_at_most(int workers, const JobExecutorOptions& options) {
    if (workers == 0) return std::numeric_limits<std::size_t>::max();
    return options.max_queue_size_pin.value_or(options.max_queue_size_pin_thread_per_worker *
                                               static_cast<std::size_t>(workers));
}

void check_size(const char* name, std::size_t value) {
    constexpr std::size_t most = 65536;
    if (value < 1 || value > most)
        throw SetupError(std::string(name) + " is " + std::to_string(value) +
                             "; it is at least 1 and at most " + std::to_string(most),
                         64);
}

}  // namespace

int poll_limit(Instant until) {
    constexpr std::int64_t longest = 60000;
    const Duration left = until - instant_now();
    if (left.count() <= 0) return 0;
    return static_cast<int>(std::min(left.count() / 1000000 + 1, longest));
}

void check_options(int workers, const JobExecutorOptions& options) {
    constexpr int most_workers = 4096;
    if (workers < 0 || workers > most_workers)
        throw SetupError("nb_workers is " + std::to_string(workers) + "; it is at least 0 and at most " +
                             std::to_string(most_workers),
                         64);
    check_size("max_queue_size_per_worker", options.max_queue_size_per_worker);
    check_size("max_queue_size_pin_thread_per_worker", options.max_queue_size_pin_thread_per_worker);
    if (options.max_queue_size_pin) check_size("max_queue_size_pin", *options.max_queue_size_pin);
}

Executor::Executor(detail::JobFunction function, int workers, const JobExecutorOptions& options,
                   ZygoteLink zygote)
    : memory_to_keep_(memory_to_keep(static_cast<std::size_t>(workers))),
      keep_blocks_(memory_to_keep_),
      options_(options),
      function_(FunctionPlace::of(function)),
      zygote_(std::move(zygote)),
      results_(results_at_most(workers, options)) {
    for (int worker = 0; worker < workers; ++worker)
        lanes_.push_back(
            std::make_unique<Lane>(LaneOptions{worker, options.seed + static_cast<std::uint64_t>(worker),
                                               options.max_queue_size_per_worker, memory_to_keep_,
                                               options.retries, options.restart_crashed_worker},
                                   links_));
    if (lanes_.empty()) return;
    doorbell_.emplace();
    if (!doorbell_->valid())
        throw SetupError(std::string("cannot make a descriptor: ") + strerror(errno), 69);
    links_.control = zygote_.control.get();
    links_.doorbell = doorbell_->descriptor();
    links_.function = function_;
}

Executor::~Executor() {
    close(std::chrono::seconds(10));
}

void Executor::start(Duration timeout) {
    std::unique_lock lock(state_mutex_);
    if (state_ == State::running) return;
    if (state_ != State::made || is_copy())
        throw SetupError("a JobExecutor that was closed cannot be started", 69);
    if (lanes_.empty()) {
        state_ = State::running;
        return;
    }
    for (const auto& lane : lanes_) lane->begin();
    state_ = State::running;
    collector_ = quiet_thread([this] { collect(); });
    if (!options_.wait_until_processes_start) return;
    const bool in_time = state_changed_.wait_for(lock, at_most_a_year(timeout),
                                                 [this] { return all_up_ || !why_not_up_.empty(); });
    if (in_time && why_not_up_.empty()) return;
    const std::string why = in_time ? why_not_up_ : "they have not begun in time";
    lock.unlock();
    abort();
    close(last_moment);
    throw SetupError("the workers of a JobExecutor cannot be started: " + why, 69);
}

void Executor::check_open() const {
    const std::lock_guard lock(state_mutex_);
    if (is_copy()) throw ExecutorClosed("put() in a forked copy of the program, which has no workers");
    if (state_ == State::made) throw ExecutorClosed("put() before start()");
    if (state_ != State::running) throw ExecutorClosed("put() after close()");
    if (abort_.load()) throw ExecutorClosed("put() after abort()");
    if (!why_none_.empty()) throw ExecutorClosed("no worker is left: " + why_none_);
}

Lane* Executor::lane_with_room() const {
    for (std::size_t tried = 0; tried < lanes_.size(); ++tried) {
        Lane* const lane = lanes_[(next_lane_ + tried) % lanes_.size()].get();
        if (lane->has_room()) return lane;
    }
    return nullptr;
}

bool Executor::is_full() const {
    if (lanes_.empty()) return runs_here_.load();
    return std::none_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->has_room(); });
}

void Executor::check_some_are_left() const {
    if (std::all_of(lanes_.begin(), lanes_.end(),
                    [](const auto& one) { return one->state() == Lane::State::gone; }))
        throw ExecutorClosed("no worker is left: " + lanes_.front()->describe_end());
}

bool Executor::has_room() const {
    check_open();
    if (!is_full()) return true;
    if (!lanes_.empty()) check_some_are_left();
    return false;
}

bool Executor::put(Batch& batch) {
    check_open();
    if (lanes_.empty()) return run_here(batch);
    const std::lock_guard lock(put_mutex_);
    Lane* const lane = lane_with_room();
    if (lane == nullptr) {
        check_some_are_left();
        return false;
    }
    Job job;
    job.created = nanos_now();
    job.head.job = next_job_;
    encode(batch, job.payload, job.blocks);
    job.head.session = results_.expect();
    try {
        const auto sent = lane->give(job, batch);
        if (!sent) throw BatchError(sent.error().message);
        if (*sent != Sent::yes) {
            results_.unexpect();
            return false;
        }
    } catch (...) {
        results_.unexpect();
        throw;
    }
    ++next_job_;
    next_lane_ = (next_lane_ + 1) % lanes_.size();
    return true;
}

// One job at a time, as in a worker: it has its function for itself, and is full meanwhile.
bool Executor::run_here(Batch& batch) {
    if (runs_here_.exchange(true)) return false;
    const std::unique_ptr<Executor, void (*)(Executor*)> end(this, [](Executor* executor) {
        const std::lock_guard lock(executor->state_mutex_);
        executor->runs_here_ = false;
        executor->state_changed_.notify_all();
    });
    Finished result;
    result.metadata.job = next_job_++;
    result.metadata.session = results_.expect();
    result.metadata.created = std::chrono::steady_clock::now();
    const std::uint64_t session = result.metadata.session;
    const JobContext context{0, options_.seed, 1, session,
                             [this, session] { return !is_running() || results_.session() != session; }};
    result.metadata.begun = std::chrono::steady_clock::now();
    try {
        Batch out = function_.run(function_.object(), std::exchange(batch, {}), context);
        encode(out, result.bytes, result.blocks);
        for (const std::shared_ptr<Block>& block : result.blocks) block->add_user();
    } catch (const std::exception& error) {
        result.outcome = Outcome::error;
        result.bytes = error.what();
    } catch (...) {
        result.outcome = Outcome::error;
        result.bytes = "the function threw what is no std::exception";
    }
    result.metadata.processed = std::chrono::steady_clock::now();
    result.metadata.queued = result.metadata.processed;
    result.metadata.collected = std::chrono::steady_clock::now();
    if (results_.is_over()) result.outcome = Outcome::not_run;
    results_.add(std::move(result));
    return true;
}

bool Executor::is_running() const {
    const std::lock_guard lock(state_mutex_);
    return state_ == State::running && !abort_.load();
}

std::optional<JobResult<Batch>> Executor::take(std::optional<Duration> timeout) {
    if (is_copy()) return std::nullopt;
    {
        // Without a thread that adds results there is nothing to wait for.
        const std::lock_guard lock(state_mutex_);
        if (state_ == State::made || (lanes_.empty() && !timeout && results_.size() == 0))
            timeout = Duration(0);
    }
    auto result = results_.take(Duration(0));
    if (!result) result = lanes_.empty() ? results_.take(timeout) : take_gathered(timeout);
    if (!result) return std::nullopt;
    return taken(std::move(*result));
}

std::optional<JobResult<Batch>> Executor::take_failure() {
    if (is_copy()) return std::nullopt;
    if (!results_.is_over()) gather();
    auto result = results_.take_failure();
    if (!result) return std::nullopt;
    return taken(std::move(*result));
}

JobResult<Batch> Executor::taken(Finished result) {
    if (waits_for_room_.load() && results_.has_room_again() && waits_for_room_.exchange(false)) ring();
    return std::move(result).decoded();
}

// Nobody is woken for results while somebody takes them all the time, so they are looked for in the lanes.
std::optional<Finished> Executor::take_gathered(std::optional<Duration> timeout) {
    gather();
    auto result = results_.take(Duration(0));
    if (result || (timeout && timeout->count() <= 0)) return result;
    const auto is_over = [&] { return results_.is_over() || (!timeout && results_.expected() == 0); };
    if (is_over()) return results_.take(timeout);
    yields_.until([&] {
        gather();
        result = results_.take(Duration(0));
        return result || is_over();
    });
    if (result) return result;
    note_taker(true);
    gather();
    result = results_.take(timeout);
    note_taker(false);
    return result;
}

void Executor::note_taker(bool waits) {
    const std::lock_guard lock(takers_mutex_);
    takers_ += waits ? 1 : -1;
    if (takers_ != (waits ? 1 : 0)) return;
    for (const auto& lane : lanes_) lane->note_taker(waits);
}

bool Executor::is_idle() {
    if (is_copy()) return true;
    if (!results_.is_over() && results_.expected() > 0) gather();
    return results_.is_over() || results_.expected() == 0;
}

void Executor::reset() {
    if (is_copy()) return;
    const std::lock_guard lock(put_mutex_);
    const std::uint64_t session = results_.begin_session();
    for (const auto& lane : lanes_) lane->tell_session(session);
    ring();
}

void Executor::abort() {
    if (is_copy()) return;
    abort_.store(true);
    ring();
}

void Executor::ring() const {
    if (doorbell_) doorbell_->set();
}

void Executor::report(std::ostream& to) {
    if (!results_.is_over()) gather();
    constexpr std::array<const char*, 4> states{"not started", "running", "closing", "closed"};
    std::string state;
    {
        const std::lock_guard lock(state_mutex_);
        state = states[static_cast<std::size_t>(state_)];
        if (abort_.load()) state += ", aborted";
        if (!why_none_.empty()) state += ", no worker is left: " + why_none_;
    }
    to << "JobExecutor: " << state << ", session " << results_.session() << ", " << results_.expected()
       << " jobs unfinished, " << results_.size();
    if (!lanes_.empty()) to << " of " << results_.most();
    to << " results here\n";
    for (const auto& lane : lanes_) to << "  " << lane->describe() << '\n';
}

void Executor::close(Duration timeout) {
    if (is_copy()) return;
    const std::lock_guard only(close_mutex_);
    const Duration limit = at_most_a_year(timeout);
    const Instant until = instant_now() + limit;
    {
        const std::lock_guard lock(state_mutex_);
        if (state_ == State::closed) return;
        state_ = State::closing;
        close_at_ = until;
        kill_at_ = until - std::min<Duration>(limit / 4, last_moment);
    }
    ring();
    if (collector_.joinable()) collector_.join();
    {
        std::unique_lock lock(state_mutex_);
        state_changed_.wait_for(lock, until - instant_now(), [this] { return !runs_here_.load(); });
    }
    results_.close();
    end_zygote(until);
    const std::lock_guard lock(state_mutex_);
    state_ = State::closed;
}

// While it lives, what workers have started are its descendants: so these are killed first, and looked for
// again, as they may have forked meanwhile.
void Executor::kill_zygote() const {
    ::kill(zygote_.child, SIGSTOP);
    constexpr int most_looks = 100;
    std::vector<pid_t> seen;
    for (int look = 0; look < most_looks; ++look) {
        std::vector<pid_t> left = node::process::descendants_of(zygote_.child);
        std::sort(left.begin(), left.end());
        if (std::includes(seen.begin(), seen.end(), left.begin(), left.end())) break;
        for (const pid_t pid : left) ::kill(pid, SIGKILL);
        seen = std::move(left);
    }
    ::kill(zygote_.child, SIGKILL);
}

// Its workers are dead or it kills them; whatever may keep it, it has not longer than we have.
void Executor::end_zygote(Instant until) {
    if (!zygote_.control.valid()) return;
    shutdown(zygote_.control.get(), SHUT_WR);
    constexpr Duration least = std::chrono::milliseconds(100);
    const Instant limit = std::max(until, instant_now() + least);
    std::array<std::byte, sizeof(ZygoteReport)> rest;
    for (;;) {
        pollfd ready{zygote_.control.get(), POLLIN, 0};
        const int changed = poll(&ready, 1, poll_limit(limit));
        if (changed < 0 && errno == EINTR) continue;
        if (changed <= 0) break;
        const ssize_t got = recv(zygote_.control.get(), rest.data(), rest.size(), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) break;
    }
    zygote_.control.reset();
    if (zygote_.child <= 0) return;
    if (instant_now() >= limit) kill_zygote();
    while (waitpid(zygote_.child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Executor::collect() {
    unsigned busy_rounds = 0;
    for (;;) {
        const bool moved = gather();
        // While results come without end, too.
        if (moved && ++busy_rounds % 16 == 0 && !zygote_gone_) take_reports();
        if (!moved || busy_rounds % 16 == 0) look_at_lanes();
        if (abort_.load()) {
            kill_lanes();
            results_.close();
        }
        if (close_lanes()) return;
        if (!moved) wait();
    }
}

// By the collector, and by whoever takes results, which spares both a wake-up.
bool Executor::gather() {
    if (is_copy()) return false;
    const std::lock_guard lock(gather_mutex_);
    return move_results();
}

// One of each lane in turn; not for long, as workers may have died.
bool Executor::move_results() {
    bool moved = false;
    constexpr int most_rounds = 64;
    bool any = true;
    for (int round = 0; any && round < most_rounds; ++round) {
        any = false;
        for (const auto& lane : lanes_) {
            if (!results_.has_room()) return moved;
            auto result = lane->next_result();
            if (!result) continue;
            any = moved = true;
            result->metadata.collected = std::chrono::steady_clock::now();
            results_.add(std::move(*result));
        }
    }
    return moved;
}

bool Executor::must_move() const {
    return results_.has_room() &&
           std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->must_be_moved(); });
}

void Executor::wait() {
    const bool has_room = results_.has_room();
    waits_for_room_.store(!has_room);
    if (!has_room && results_.has_room())
        return waits_for_room_.store(false);  // who made it has not seen us wait
    if (has_room)
        for (const auto& lane : lanes_) lane->note_sleep(true);
    // What came before that would ring no more.
    if (!must_move()) {
        const std::optional<Instant> until = wakes_at();
        std::array<pollfd, 2> ready{
            {{doorbell_->descriptor(), POLLIN, 0}, {zygote_gone_ ? -1 : zygote_.control.get(), POLLIN, 0}}};
        poll(ready.data(), ready.size(), until ? poll_limit(*until) : -1);
        if (ready[0].revents != 0) doorbell_->clear();
        if (ready[1].revents != 0) take_reports();
    }
    waits_for_room_.store(false);
    for (const auto& lane : lanes_) lane->note_sleep(false);
}

std::optional<Instant> Executor::wakes_at() const {
    std::optional<Instant> first;
    for (const auto& lane : lanes_)
        if (const auto at = lane->begins_at()) first = first ? std::min(*first, *at) : *at;
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::closing) first = killed_ ? close_at_ : kill_at_;
    return first;
}

void Executor::take_reports() {
    for (;;) {
        ZygoteReport report;
        const ssize_t got = recv(zygote_.control.get(), &report, sizeof report, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got != sizeof report) break;
        if (report.kind == ZygoteReport::Kind::zygote_lost) {
            lend_streams(zygote_.control.get());
            for (const auto& lane : lanes_) lane->lose_process();
        } else if (report.lane < lanes_.size()) {
            lanes_[report.lane]->on(report);
        }
    }
    zygote_gone_ = true;
    for (const auto& lane : lanes_) lane->lose("the processes that start workers were killed");
}

void Executor::look_at_lanes() {
    std::size_t up = 0;
    std::size_t gone = 0;
    bool waits = false;
    std::string why_gone;
    const Instant now = instant_now();
    for (const auto& lane : lanes_) {
        lane->begin_if_due(now);
        const Lane::State state = lane->state();
        up += state == Lane::State::up;
        if (state == Lane::State::gone && ++gone == 1) why_gone = lane->describe_end();
        waits = waits || lane->has_result();
    }
    const std::lock_guard lock(state_mutex_);
    if (state_ == State::closing) return;
    if (!all_up_ && up == lanes_.size()) {
        all_up_ = true;
        state_changed_.notify_all();
    }
    if (gone > 0 && !all_up_ && why_not_up_.empty()) {
        why_not_up_ = why_gone;
        state_changed_.notify_all();
    }
    if (gone < lanes_.size()) return;
    if (why_none_.empty()) why_none_ = why_gone;
    if (!waits) results_.close();
}

void Executor::kill_lanes() {
    if (killed_) return;
    killed_ = true;
    for (const auto& lane : lanes_) {
        lane->stop();
        lane->kill();
    }
}

// True: all is done that can be done.
bool Executor::close_lanes() {
    Instant close_at;
    Instant kill_at;
    {
        const std::lock_guard lock(state_mutex_);
        if (state_ != State::closing) return false;
        close_at = close_at_;
        kill_at = kill_at_;
    }
    if (!stopped_) {
        stopped_ = true;
        for (const auto& lane : lanes_) lane->stop();
    }
    const Instant now = instant_now();
    if (now >= kill_at) kill_lanes();
    if (now >= close_at || zygote_gone_) return true;
    return std::all_of(lanes_.begin(), lanes_.end(),
                       [](const auto& lane) { return lane->state() == Lane::State::gone; });
}

}  // namespace wq::functions::pool
