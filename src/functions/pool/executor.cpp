#include "functions/pool/executor.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

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

void WaitingTakers::enter() {
    const std::lock_guard lock(mutex_);
    if (++count_ == 1)
        for (const auto& lane : lanes_) lane->set_taker_waits(true);
}

void WaitingTakers::leave() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0)
        for (const auto& lane : lanes_) lane->set_taker_waits(false);
}

Executor::Executor(detail::JobFunction function, int workers, const JobExecutorOptions& options,
                   ZygoteLink zygote)
    : options_(options),
      keep_blocks_(memory_to_keep(static_cast<std::size_t>(workers))),
      function_(FunctionPlace::of(function)),
      zygote_(std::move(zygote)),
      results_(results_at_most(workers, options)) {
    for (int worker = 0; worker < workers; ++worker)
        lanes_.push_back(
            std::make_unique<JobLane>(LaneOptions{worker, options.seed + static_cast<std::uint64_t>(worker),
                                                  options.max_queue_size_per_worker, keep_blocks_.bytes(),
                                                  options.retries, options.restart_crashed_worker},
                                      links_));
    if (lanes_.empty()) return;
    collector_.emplace(lanes_, zygote_.control.get(), results_, state_);
    links_.control = zygote_.control.get();
    links_.doorbell = collector_->doorbell();
    links_.function = function_;
}

Executor::~Executor() {
    close(std::chrono::seconds(10));
}

void Executor::start(Duration timeout) {
    const bool begins = state_.start([this] {
        for (const auto& lane : lanes_) lane->begin();
        if (collector_) collector_->start();
    });
    if (!begins || lanes_.empty() || !options_.wait_until_processes_start) return;
    const std::string why = state_.wait_until_all_are_up(timeout);
    if (why.empty()) return;
    abort();
    close(last_moment);
    throw SetupError("the workers of a JobExecutor cannot be started: " + why, 69);
}

JobLane* Executor::lane_with_room() const {
    for (std::size_t tried = 0; tried < lanes_.size(); ++tried) {
        JobLane* const lane = lanes_[(next_lane_ + tried) % lanes_.size()].get();
        if (lane->has_room()) return lane;
    }
    return nullptr;
}

bool Executor::is_full() const {
    if (lanes_.empty()) return state_.has_call();
    return std::none_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->has_room(); });
}

void Executor::check_some_are_left() const {
    if (all_are_gone(lanes_)) throw ExecutorClosed("no worker is left: " + lanes_.front()->describe_end());
}

bool Executor::has_room() const {
    state_.check_open();
    if (!is_full()) return true;
    if (!lanes_.empty()) check_some_are_left();
    return false;
}

bool Executor::put(Batch& batch) {
    state_.check_open();
    if (lanes_.empty()) return run_here(batch);
    const std::lock_guard lock(put_mutex_);
    JobLane* const lane = lane_with_room();
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
    if (!state_.begin_call()) return false;
    const std::unique_ptr<ExecutorState, void (*)(ExecutorState*)> end(
        &state_, [](ExecutorState* state) { state->end_call(); });
    FinishedJob result = call(batch, results_.expect());
    if (results_.is_over()) result.outcome = Outcome::not_run;
    results_.add(std::move(result));
    return true;
}

FinishedJob Executor::call(Batch& batch, std::uint64_t session) {
    using Clock = std::chrono::steady_clock;
    FinishedJob result;
    result.metadata.job = next_job_++;
    result.metadata.session = session;
    result.metadata.created = Clock::now();
    const JobContext context{0, options_.seed, 1, session, [this, session] {
                                 return !state_.is_running() || results_.session() != session;
                             }};
    result.metadata.begun = Clock::now();
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
    result.metadata.processed = result.metadata.queued = Clock::now();
    result.metadata.collected = Clock::now();
    return result;
}

std::optional<JobResult<Batch>> Executor::take(std::optional<Duration> timeout) {
    if (is_copy()) return std::nullopt;
    // Without a thread that adds results there is nothing to wait for.
    if (state_.is_made() || (lanes_.empty() && !timeout && results_.size() == 0)) timeout = Duration(0);
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

JobResult<Batch> Executor::taken(FinishedJob result) {
    if (collector_) collector_->note_taken();
    return std::move(result).decoded();
}

// Nobody is woken for results while somebody takes them all the time, so they are looked for in the lanes.
std::optional<FinishedJob> Executor::take_gathered(std::optional<Duration> timeout) {
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
    takers_.enter();
    gather();
    result = results_.take(timeout);
    takers_.leave();
    return result;
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
    for (const auto& lane : lanes_) lane->set_session(session);
    wake_collector();
}

void Executor::abort() {
    if (is_copy()) return;
    state_.abort();
    wake_collector();
}

void Executor::wake_collector() const {
    if (collector_) collector_->wake();
}

void Executor::gather() {
    if (collector_ && !is_copy()) collector_->gather();
}

void Executor::report(std::ostream& to) {
    if (!results_.is_over()) gather();
    to << "JobExecutor: " << state_.describe() << ", session " << results_.session() << ", "
       << results_.expected() << " jobs unfinished, " << results_.size();
    if (!lanes_.empty()) to << " of " << results_.most();
    to << " results here\n";
    for (const auto& lane : lanes_) to << "  " << lane->describe() << '\n';
}

void Executor::close(Duration timeout) {
    if (is_copy()) return;
    const std::lock_guard only(close_mutex_);
    const Duration limit = at_most_a_year(timeout);
    const Instant until = instant_now() + limit;
    if (!state_.begin_close({until - std::min<Duration>(limit / 4, last_moment), until})) return;
    wake_collector();
    if (collector_) collector_->join();
    state_.wait_for_end_of_call(until);
    results_.close();
    end_zygote(zygote_, until);
    state_.end_close();
}

}  // namespace wq::functions::pool
