#include "engine/policies/range_reports.h"

#include <algorithm>
#include <vector>

namespace wq::engine::policies {

namespace {
// A longer reported time (over 115 days) is invalid, and would make sums overflow.
constexpr std::int64_t longest_range_us = 10'000'000'000'000;
}  // namespace

void RangeReports::on(const RangeReported& event) {
    const Worker* worker = workers_.find(event.worker);
    const std::uint64_t reported = event.done.count();
    const Ended ended = worker == nullptr ? Ended{} : end_all(event);
    std::uint64_t counted = 0;
    for (const auto& [what, tasks] : ended) counted += tasks.count();
    state_.stale += reported - counted;
    if (counted == 0) return;
    const std::int64_t all_us = std::clamp<std::int64_t>(event.wall_us, 0, longest_range_us);
    const double each_us = static_cast<double>(all_us) / static_cast<double>(reported);
    for (const auto& [what_ended, tasks] : ended) {
        const auto& [shape, given] = what_ended;
        const CategoryId category = ledger_.shape(shape).category;
        const auto wall_us = static_cast<std::int64_t>(each_us * static_cast<double>(tasks.count()));
        state_.count_for(category, [&](ManagerStats& stats) {
            add_bounded(stats.time_execute, wall_us);
            add_bounded(stats.time_execute_good, wall_us);
        });
        state_.mean_wall[shape].add(each_us);
        hooks_.range_succeeded(*worker, shape, tasks.count(), std::chrono::microseconds(wall_us),
                               std::chrono::microseconds(static_cast<std::int64_t>(each_us)));
        act(RangeEnded{event.worker, tasks, category, given, event.started_us, wall_us});
        tasks.for_each([&](Interval part) { attempts_.apply(state_.groups.succeeded(part)); });
    }
}

// Tickets end without a record each; tickets that became leases end one by one. The batch may be closed
// afterwards, so the result holds their shapes and allocations.
RangeReports::Ended RangeReports::end_all(const RangeReported& event) {
    Ended ended;
    if (state_.batch && state_.batch->id == event.batch && state_.batch->members.contains(event.worker))
        end_tickets(event, ended);
    const auto& leases = workers_.find(event.worker)->leases;
    for (const TaskId task : std::vector<TaskId>(leases.begin(), leases.end())) {
        const Attempted& attempted = ledger_.attempted(task);
        if (!event.done.contains(task.value()) || !attempted.by_ticket || attempted.worker != event.worker)
            continue;
        const Resources given = attempted.given;
        attempts_.free(task);
        attempts_.drop_copy(task, true);
        ledger_.change(task, TaskEvent::succeed);
        ended[{ledger_.shape_of(task), given}].insert(task.value());
    }
    return ended;
}

void RangeReports::end_tickets(const RangeReported& event, Ended& ended) {
    IntervalSet tickets;
    event.done.for_each([&](Interval part) {
        state_.batch->outstanding.for_each_in(part, [&](Interval range) { tickets.insert(range); });
    });
    tickets.for_each([&](Interval part) {
        state_.batch->outstanding.erase(part);
        ledger_.change(part, TaskEvent::succeed);
    });
    if (tickets.empty()) return;
    const auto count = static_cast<std::int64_t>(tickets.count());
    state_.count_for(TaskId(tickets.front()->first),
                     [&](ManagerStats& stats) { stats.tasks_dispatched += count; });
    const Resources given = fit_.share_by_ticket(workers_.find(event.worker)->whole);
    ended[{state_.batch->shape, given}] = std::move(tickets);
}

}  // namespace wq::engine::policies
