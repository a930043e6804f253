#include "node/launcher/function_runner.h"

#include <algorithm>
#include <system_error>

#include "base/signals.h"

namespace wq::node::launcher {

namespace {

// After reports arrive, the next ones are collected this much later, so that calls of a microsecond come in
// hundreds.
constexpr Duration pause = std::chrono::milliseconds(1);

TaskEnded unable(TaskId task, Attempt attempt) {
    TaskEnded ended{task, attempt, {}, {}};
    engine::model::set_not_started(ended.outcome,
                                   "no thread can be made: raise the limit of processes (ulimit -u)");
    return ended;
}

}  // namespace

FunctionRunner::FunctionRunner(const process::FunctionTable& functions, std::size_t threads)
    : functions_(std::make_shared<const process::FunctionTable>(functions)),
      threads_(std::max<std::size_t>(threads, 1)),
      bell_(std::make_shared<const Wake>()) {
    begin();
}

void FunctionRunner::begin() {
    direct_.emplace(functions_, 1, bell_);
    pool_.emplace(functions_, threads_, bell_);
}

void FunctionRunner::forget(Duration limit) {
    kill_all();
    if (!end(limit)) one_runs_on_ = true;
    begin();
    refused_.clear();
    held_ = held_of_ranges_ = 0;
    look_again_.reset();
}

void FunctionRunner::run(CallOrder order, engine::model::CallMode mode) {
    (mode == engine::model::CallMode::thread ? to_pool_ : to_direct_).emplace_back(std::move(order));
    ++held_;
}

void FunctionRunner::run(RangeOrder order) {
    if (order.tasks.size() == 0) return;
    held_ += order.tasks.size();
    held_of_ranges_ += order.tasks.size();
    to_direct_.emplace_back(std::move(order));
}

void FunctionRunner::pass_on() {
    pass_on(to_direct_, *direct_);
    pass_on(to_pool_, *pool_);
}

void FunctionRunner::pass_on(std::vector<CallJob>& jobs, CallThreads& threads) {
    if (threads.add(jobs)) return;
    for (const CallJob& job : jobs) {
        if (const auto* call = std::get_if<CallOrder>(&job)) {
            refused_.emplace_back(unable(call->task, call->attempt));
            continue;
        }
        const auto& range = std::get<RangeOrder>(job);
        RangeProgress progress;
        progress.batch = range.batch;
        for (std::uint64_t task = range.tasks.first; task < range.tasks.end; ++task)
            progress.failed.push_back(unable(TaskId(task), 1));
        refused_.emplace_back(std::move(progress));
    }
    jobs.clear();
}

std::uint64_t FunctionRunner::recall(std::uint64_t most) {
    pass_on();
    const std::uint64_t returned = direct_->recall(most);
    return returned + pool_->recall(most - returned);
}

void FunctionRunner::kill(TaskId task, Attempt attempt) {
    pass_on();
    direct_->kill(task, attempt);
    pool_->kill(task, attempt);
}

void FunctionRunner::kill_all() {
    pass_on();
    direct_->kill_all();
    pool_->kill_all();
}

void FunctionRunner::return_ranges() {
    pass_on();
    direct_->return_ranges();
}

std::vector<CallReport> FunctionRunner::next(Instant now) {
    bell_->clear();
    pass_on();
    std::vector<CallReport> reports = std::exchange(refused_, {});
    direct_->collect(reports);
    pool_->collect(reports);
    for (const CallReport& report : reports) settle(report);
    if (!reports.empty() && held_ > 0) {
        if (!look_again_) set_armed(false);
        look_again_ = now + pause;
    } else if (look_again_ && (held_ == 0 || now >= *look_again_)) {
        look_again_.reset();
        set_armed(true);
    }
    return reports;
}

void FunctionRunner::set_armed(bool armed) {
    direct_->set_armed(armed);
    pool_->set_armed(armed);
}

void FunctionRunner::settle(const CallReport& report) {
    const auto* range = std::get_if<RangeProgress>(&report);
    const std::uint64_t tasks =
        range == nullptr ? 1 : range->done.count() + range->returned.count() + range->failed.size();
    held_ -= tasks;
    if (range != nullptr) held_of_ranges_ -= tasks;
}

bool FunctionRunner::end(Duration limit) {
    const Instant until = instant_now() + limit;
    const bool direct = direct_->end(limit);
    const bool pool = pool_->end(std::max<Duration>(until - instant_now(), Duration{0}));
    return direct && pool && !one_runs_on_;
}

namespace {

constexpr Duration between_reports = std::chrono::milliseconds(100);
constexpr std::size_t most_failed_of_a_report = 1000;
constexpr Duration end_limit = std::chrono::seconds(5);

}  // namespace

struct CallThreads::State {
    State(std::shared_ptr<const process::FunctionTable> table, std::shared_ptr<const Wake> ring)
        : functions(std::move(table)), bell(std::move(ring)) {}

    const std::shared_ptr<const process::FunctionTable> functions;
    const std::shared_ptr<const Wake> bell;

    std::mutex mutex;
    std::condition_variable work;
    std::condition_variable ends;
    std::deque<CallJob> waiting;
    std::vector<CallReport> reports;
    std::vector<std::pair<TaskId, Attempt>> running;
    std::vector<std::pair<TaskId, Attempt>> killed;  // of the running ones
    std::size_t idle = 0;
    std::size_t alive = 0;
    bool armed = true;
    bool rung = false;
    bool over = false;
    std::atomic<std::uint64_t> range_stops{0};  // raising it by one stops the running ranges

    void return_job(const CallJob& job) {
        if (const auto* call = std::get_if<CallOrder>(&job)) {
            reports.emplace_back(OrderReturned{call->task, call->attempt});
            return;
        }
        const auto& range = std::get<RangeOrder>(job);
        RangeProgress progress;
        progress.batch = range.batch;
        progress.returned.insert(range.tasks);
        reports.emplace_back(std::move(progress));
    }
    void ring() {
        if (!std::exchange(rung, true)) bell->set();
    }
};

// What one thread does.
struct CallThreads::Runner {
    State& state;
    process::CallMeter meter{};

    void run() {
        std::unique_lock lock(state.mutex);
        while (next(lock)) {
            CallJob job = std::move(state.waiting.front());
            state.waiting.pop_front();
            if (auto* call = std::get_if<CallOrder>(&job))
                run(*call, lock);
            else
                run(std::get<RangeOrder>(job), lock);
            if (state.armed || state.waiting.empty()) state.ring();
        }
        --state.alive;
        state.ends.notify_all();
    }

    bool next(std::unique_lock<std::mutex>& lock) {
        while (state.waiting.empty() && !state.over) {
            ++state.idle;
            state.work.wait(lock);
            --state.idle;
        }
        return !state.over;
    }

    void run(CallOrder& order, std::unique_lock<std::mutex>& lock) {
        const std::pair name(order.task, order.attempt);
        state.running.push_back(name);
        lock.unlock();
        TaskEnded ended{order.task, order.attempt, {}, {}};
        meter.begin();
        process::CallEnd end = process::run_call(*state.functions, order.call);
        meter.end(ended.outcome);
        ended.outcome.ending = end.ending;
        ended.outcome.exit_code = end.exit_code;
        ended.outcome.reason = std::move(end.reason);
        ended.output.result = std::move(end.result);
        std::exchange(order.call, {});  // freed without the lock
        lock.lock();
        std::erase(state.running, name);
        if (!state.killed.empty() && std::erase(state.killed, name) > 0) {
            ended.outcome.ending = engine::model::Ending::killed;
            ended.outcome.reason = "a call within the worker cannot be stopped: it ran to its end";
            ended.output.result.clear();
        }
        state.reports.emplace_back(std::move(ended));
    }

    void run(const RangeOrder& order, std::unique_lock<std::mutex>& lock) {
        const std::uint64_t stops = state.range_stops.load();
        lock.unlock();
        const process::Function* const function = state.functions->find(order.function);
        const std::function<void(std::int64_t)>* const call =
            function != nullptr && function->call_index ? &function->call_index : nullptr;
        std::uint64_t task = order.tasks.first;
        while (task < order.tasks.end && state.range_stops.load(std::memory_order_relaxed) == stops) {
            RangeProgress progress = call != nullptr ? run_some(order, *call, task, stops)
                                                     : refuse_some(order, function != nullptr, task);
            if (task == order.tasks.end) return queue_progress(std::move(progress), lock);
            queue_progress(std::move(progress), lock);
            if (state.armed) state.ring();
            lock.unlock();
        }
        RangeProgress rest;
        rest.batch = order.batch;
        rest.returned.insert(Interval{task, order.tasks.end});
        queue_progress(std::move(rest), lock);
    }

    void queue_progress(RangeProgress progress, std::unique_lock<std::mutex>& lock) {
        lock.lock();
        state.reports.emplace_back(std::move(progress));
    }

    // Runs tasks from `task` on, for the time that one report covers; at least one.
    RangeProgress run_some(const RangeOrder& order, const std::function<void(std::int64_t)>& call,
                           std::uint64_t& task, std::uint64_t stops) {
        RangeProgress progress;
        progress.batch = order.batch;
        progress.started_us = wall_now();
        const Instant began = instant_now();
        Instant before = began;
        Duration failed_time{0};
        std::uint64_t good_from = task;
        const auto index_of = [&](std::uint64_t one) {
            return static_cast<std::int64_t>(static_cast<std::uint64_t>(order.first_index) + one -
                                             order.tasks.first);
        };
        while (task < order.tasks.end) {
            bool good = true;
            process::CallEnd end;
            try {
                call(index_of(task));
            } catch (...) {
                end = process::raised();
                good = false;
            }
            const Instant after = instant_now();
            if (!good) {
                progress.done.insert(Interval{good_from, task});
                good_from = task + 1;
                failed_time += after - before;
                progress.failed.push_back(failure(task, std::move(end), after - before));
            }
            before = after;
            ++task;
            if (after - began >= between_reports || progress.failed.size() >= most_failed_of_a_report ||
                state.range_stops.load(std::memory_order_relaxed) != stops)
                break;
        }
        progress.done.insert(Interval{good_from, task});
        progress.wall_us = (before - began - failed_time).count() / 1000;
        return progress;
    }

    RangeProgress refuse_some(const RangeOrder& order, bool known, std::uint64_t& task) {
        RangeProgress progress;
        progress.batch = order.batch;
        const process::CallEnd end = known ? process::takes_no_index(order.function)
                                           : process::no_such_function(*state.functions, order.function);
        for (; task < order.tasks.end && progress.failed.size() < most_failed_of_a_report; ++task)
            progress.failed.push_back(failure(task, end, Duration{0}));
        return progress;
    }

    static TaskEnded failure(std::uint64_t task, process::CallEnd end, Duration wall) {
        TaskEnded ended{TaskId(task), 1, {}, {}};
        ended.outcome.ending = end.ending;
        ended.outcome.exit_code = end.exit_code;
        ended.outcome.reason = std::move(end.reason);
        ended.outcome.wall_us = wall.count() / 1000;
        ended.outcome.started_us = wall_now() - ended.outcome.wall_us;
        return ended;
    }
};

CallThreads::CallThreads(std::shared_ptr<const process::FunctionTable> functions, std::size_t threads,
                         std::shared_ptr<const Wake> bell)
    : state_(std::make_shared<State>(std::move(functions), std::move(bell))), threads_(threads) {}

CallThreads::~CallThreads() {
    end(end_limit);
}

void CallThreads::make_threads() {
    const SignalsHeld held;
    while (running_.size() < threads_) {
        {
            const std::lock_guard lock(state_->mutex);
            ++state_->alive;
        }
        try {
            running_.emplace_back([state = state_] { Runner{*state}.run(); });
        } catch (const std::system_error&) {  // no more threads: the existing ones run the calls
            const std::lock_guard lock(state_->mutex);
            --state_->alive;
            return;
        }
    }
}

bool CallThreads::add(std::vector<CallJob>& jobs) {
    if (jobs.empty()) return true;
    if (running_.empty()) make_threads();
    if (running_.empty()) return false;
    std::size_t idle = 0;
    {
        const std::lock_guard lock(state_->mutex);
        for (CallJob& job : jobs) state_->waiting.push_back(std::move(job));
        idle = state_->idle;
    }
    for (std::size_t woken = 0; woken < std::min(idle, jobs.size()); ++woken) state_->work.notify_one();
    jobs.clear();
    return true;
}

void CallThreads::collect(std::vector<CallReport>& reports) {
    const std::lock_guard lock(state_->mutex);
    state_->rung = false;
    if (reports.empty()) return std::swap(reports, state_->reports);
    std::move(state_->reports.begin(), state_->reports.end(), std::back_inserter(reports));
    state_->reports.clear();
}

void CallThreads::set_armed(bool armed) {
    const std::lock_guard lock(state_->mutex);
    state_->armed = armed;
    if (armed && !state_->reports.empty()) state_->ring();
}

std::uint64_t CallThreads::recall(std::uint64_t most) {
    const std::lock_guard lock(state_->mutex);
    std::uint64_t returned = 0;
    for (auto job = state_->waiting.end(); job != state_->waiting.begin() && returned < most;) {
        if (std::holds_alternative<RangeOrder>(*--job)) continue;
        state_->return_job(*job);
        job = state_->waiting.erase(job);
        ++returned;
    }
    if (returned > 0) state_->ring();
    return returned;
}

void CallThreads::kill(TaskId task, Attempt attempt) {
    const std::lock_guard lock(state_->mutex);
    const std::pair name(task, attempt);
    if (std::find(state_->running.begin(), state_->running.end(), name) != state_->running.end()) {
        state_->killed.push_back(name);
        return;
    }
    const auto waits = std::find_if(state_->waiting.begin(), state_->waiting.end(), [&](const CallJob& job) {
        const auto* call = std::get_if<CallOrder>(&job);
        return call != nullptr && call->task == task && call->attempt == attempt;
    });
    if (waits == state_->waiting.end()) return;
    state_->return_job(*waits);
    state_->waiting.erase(waits);
    state_->ring();
}

void CallThreads::kill_all() {
    recall(UINT64_MAX);
    return_ranges();
    const std::lock_guard lock(state_->mutex);
    state_->killed = state_->running;
}

void CallThreads::return_ranges() {
    const std::lock_guard lock(state_->mutex);
    ++state_->range_stops;
    std::erase_if(state_->waiting, [&](const CallJob& job) {
        const bool range = std::holds_alternative<RangeOrder>(job);
        if (range) state_->return_job(job);
        return range;
    });
    if (!state_->reports.empty()) state_->ring();
}

bool CallThreads::end(Duration limit) {
    if (running_.empty()) return true;
    bool all = false;
    {
        std::unique_lock lock(state_->mutex);
        state_->over = true;
        ++state_->range_stops;
        state_->work.notify_all();
        all = state_->ends.wait_for(lock, limit, [&] { return state_->alive == 0; });
    }
    for (std::thread& thread : running_) all ? thread.join() : thread.detach();
    running_.clear();
    return all;
}

}  // namespace wq::node::launcher
