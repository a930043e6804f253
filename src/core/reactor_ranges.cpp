// Calls of a range that succeeded, many at once: kept as ranges, so that ten million cost what one does.
#include <algorithm>
#include <map>

#include "core/reactor.h"

namespace wq::core {

namespace {
// What a peer says of its calls: more than that is no time (115 days), and would let sums overflow.
constexpr std::int64_t longest_us = 10'000'000'000'000;
}  // namespace

void Reactor::on_event(const RangeReported& event, Now now, Actions& actions) {
    const Worker* worker = workers_.find(event.worker);
    const std::uint64_t reported = event.done.count();
    const Ended ended = worker == nullptr ? Ended{} : end_all(event, actions);
    std::uint64_t counted = 0;
    for (const auto& [what, tasks] : ended) counted += tasks.count();
    stale_ += reported - counted;
    if (counted == 0) return;
    recall_pause_ = first_recall_pause;
    const std::int64_t all_us = std::clamp<std::int64_t>(event.wall_us, 0, longest_us);
    const double each_us = static_cast<double>(all_us) / static_cast<double>(reported);
    for (const auto& [what_ended, tasks] : ended) {
        const auto& [shape, given] = what_ended;
        const auto wall_us = static_cast<std::int64_t>(each_us * static_cast<double>(tasks.count()));
        count_for(TaskId(tasks.front()->first), [&](ManagerStats& stats) {
            add_bounded(stats.time_execute, wall_us);
            add_bounded(stats.time_execute_good, wall_us);
        });
        learn(shape, each_us);
        const Shape& what = ledger_.shape(shape);
        pace_.succeeded(what.category, tasks.count(), std::chrono::microseconds(wall_us));
        stragglers_.succeeded(what.category, tasks.count(), std::chrono::microseconds(wall_us));
        if (options_.sets_hosts_aside)
            host_watch_.succeeded(
                {worker->host, alike(shape), std::chrono::microseconds(wall_us),
                 now.instant - std::chrono::microseconds(static_cast<std::int64_t>(each_us))},
                tasks.count());
        actions.push_back(RangeEnded{event.worker, tasks, what.category, given, event.started_us, wall_us});
        tasks.for_each([&](Interval part) { apply(groups_.succeeded(part), actions); });
    }
    close_batch_if_over(actions);
}

// Tickets end without a record of their own; those that became leases of the worker one by one. The batch may
// be over by then, so these say themselves what they are and were given.
Reactor::Ended Reactor::end_all(const RangeReported& event, Actions& actions) {
    Ended ended;
    if (batch_ && batch_->id == event.batch && batch_->members.contains(event.worker)) {
        IntervalSet tickets;
        event.done.for_each([&](Interval part) {
            batch_->outstanding.for_each_in(part, [&](Interval range) { tickets.insert(range); });
        });
        tickets.for_each([&](Interval part) {
            batch_->outstanding.erase(part);
            ledger_.change(part, TaskEvent::succeed);
        });
        if (!tickets.empty()) {
            const auto count = static_cast<std::int64_t>(tickets.count());
            count_for(TaskId(tickets.front()->first),
                      [&](ManagerStats& stats) { stats.tasks_dispatched += count; });
            const Resources given = share_by_ticket(workers_.find(event.worker)->whole);
            ended[{batch_->shape, given}] = std::move(tickets);
        }
    }
    const auto& leases = workers_.find(event.worker)->leases;
    for (const TaskId task : std::vector<TaskId>(leases.begin(), leases.end())) {
        const Attempted& attempted = ledger_.attempted(task);
        if (!event.done.contains(task.value()) || !attempted.by_ticket || attempted.worker != event.worker)
            continue;
        const Resources given = attempted.given;
        free_lease(task);
        drop_copy(task, true, actions);
        ledger_.change(task, TaskEvent::succeed);
        ended[{ledger_.shape_of(task), given}].insert(task.value());
    }
    return ended;
}

}  // namespace wq::core
