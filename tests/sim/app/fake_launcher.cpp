#include "sim/app/fake_launcher.h"

#include <algorithm>

#include "sim/overtaking.h"

namespace wq::sim {

void FakeLauncher::run(node::process::Order order) {
    queue_.push_back(std::move(order));
}

void FakeLauncher::start_what_fits() {
    for (;;) {
        engine::model::Resources free = whole_;
        free -= used_;
        // Not beyond an order with other `#!` lines: the shell executes them in order.
        const auto end = std::find_if(queue_.begin(), queue_.end(), [&](const node::process::Order& order) {
            return order.environment_position != queue_.front().environment_position;
        });
        const auto next = next_to_start(queue_.begin(), end, free,
                                        [](const node::process::Order& order) { return order.give; });
        if (next == end) return;
        used_ += next->give;
        started_(*next);
        const TaskId task = next->task;
        running_.push_back({std::move(*next), now_ + tasks_(task).wall});
        queue_.erase(next);
    }
}

void FakeLauncher::finish(const Running& task) {
    const FakeTask what = tasks_(task.order.task);
    engine::model::Outcome outcome;
    outcome.wall_us = what.wall.count() / 1000;
    outcome.user_us = task.order.attempt;  // records count without the leases that never started
    if (task.killed)
        outcome.ending = engine::model::Ending::killed;
    else if (task.order.attempt <= what.failures)
        outcome.exit_code = 1;
    used_ -= task.order.give;
    reports_.emplace_back(
        node::launcher::TaskEnded{task.order.task, task.order.attempt, outcome, {"out\n", ""}});
}

void FakeLauncher::set_time(Instant now) {
    now_ = now;
    if (now < kept_until_) return;
    kept_until_ = Instant::max();
    die("ended, because its worker was stopped for too long");
}

void FakeLauncher::kill(TaskId task, Attempt attempt) {
    for (Running& running : running_)
        if (running.order.task == task && running.order.attempt == attempt)
            running.killed = true, running.ends = now_;
    const auto queued = std::find_if(queue_.begin(), queue_.end(), [&](const node::process::Order& order) {
        return order.task == task && order.attempt == attempt;
    });
    if (queued == queue_.end()) return;
    reports_.emplace_back(node::launcher::OrderReturned{task, attempt});
    queue_.erase(queued);
}

void FakeLauncher::recall(std::uint64_t most) {
    for (; most > 0 && !queue_.empty(); --most) {
        reports_.emplace_back(node::launcher::OrderReturned{queue_.back().task, queue_.back().attempt});
        queue_.pop_back();
    }
}

void FakeLauncher::kill_all() {
    recall(queue_.size());
    for (Running& running : running_) running.killed = true, running.ends = now_;
}

Status FakeLauncher::begin_anew(const node::launcher::LauncherOptions&, Duration) {
    running_.clear();
    queue_.clear();
    reports_.clear();
    lines_.clear();
    used_ = {};
    return success();
}

bool FakeLauncher::runs(TaskId task) const {
    return std::any_of(running_.begin(), running_.end(), [&](const Running& running) {
        return running.order.task == task && !running.killed && running.ends > now_;
    });
}

void FakeLauncher::leave() {
    reports_.emplace_back(node::launcher::EnvironmentExit{1, 3});
    recall(queue_.size());
}

void FakeLauncher::die(const std::string& why) {
    node::launcher::LauncherDied died;
    for (const Running& running : running_)
        died.started.emplace_back(running.order.task, running.order.attempt);
    for (const node::process::Order& order : queue_) died.not_started.emplace_back(order.task, order.attempt);
    died.why = why;
    running_.clear();
    queue_.clear();
    used_ = {};
    reports_.emplace_back(std::move(died));
}

std::vector<node::launcher::Report> FakeLauncher::next() {
    start_what_fits();
    const auto over = std::stable_partition(running_.begin(), running_.end(),
                                            [&](const Running& task) { return task.ends > now_; });
    for (auto task = over; task != running_.end(); ++task) finish(*task);
    running_.erase(over, running_.end());
    start_what_fits();
    return std::exchange(reports_, {});
}

std::optional<Instant> FakeLauncher::next_end() const {
    std::optional<Instant> first;
    for (const Running& task : running_)
        if (!first || task.ends < *first) first = task.ends;
    if (!reports_.empty()) first = now_;
    return first;
}

}  // namespace wq::sim
