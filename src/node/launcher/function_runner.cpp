#include "node/launcher/function_runner.h"

#include <algorithm>

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
        if (!look_again_) listen(false);
        look_again_ = now + pause;
    } else if (look_again_ && (held_ == 0 || now >= *look_again_)) {
        look_again_.reset();
        listen(true);
    }
    return reports;
}

void FunctionRunner::listen(bool armed) {
    direct_->listen(armed);
    pool_->listen(armed);
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

}  // namespace wq::node::launcher
