#include "engine/policies/reports.h"

#include <algorithm>
#include <vector>

#include "engine/model/outcome.h"

namespace wq::engine::policies {

void Reports::on(const TaskReported& event) {
    const auto& [id, task, attempt, outcome] = event;
    if (!attempts_.holds(id, task, attempt)) {
        counters_.count_stale();
        return;
    }
    const Worker& worker = *workers_.find(id);
    if (const Copy* copy = state_.copies.at(id, task)) {
        hooks_.reported(worker, task, outcome, copy->since);
        return copy_reported(task, outcome);
    }
    if (ledger_.state(task) == TaskState::sealed) {
        attempts_.claim_ticket(id, task, outcome.started_us);
        counters_.count_dispatched(state_.category_of(task));
    }
    const Attempted& attempted = ledger_.attempted(task);
    // No worker reports when a ticket's attempt began.
    hooks_.reported(worker, task, outcome,
                    attempted.by_ticket ? now() - wall_time(outcome) : attempted.since);
    if (outcome.ending == Ending::worker_lost)  // its launcher died; the worker still runs
        return attempts_.lose(task, outcome.reason, Blame::task);
    attempts_.free(task);
    // The run time of a task that was told to end says nothing about other tasks.
    if (outcome.ending != Ending::killed || !attempted.kill_ordered)
        mean_wall_[ledger_.shape_of(task)].add(static_cast<double>(outcome.wall_us));
    settle(task, outcome);
}

// A copy's failure is dropped: the first attempt either fails the same way, or succeeds.
void Reports::copy_reported(TaskId task, const Outcome& outcome) {
    if (!outcome.succeeded()) return attempts_.drop_copy(task, DroppedCopy::forget);
    const Attempted& first = ledger_.attempted(task);
    event_.kill(first.worker, task, first.attempt);
    attempts_.free(task);
    attempts_.promote_copy(task);
    attempts_.free(task);
    settle(task, outcome);
}

void Reports::on(const TaskGivenBack& event) {
    answered_recall(event.worker);
    const TaskId task = event.task;
    if (!attempts_.holds(event.worker, task, event.attempt)) {
        counters_.count_stale();
        return;
    }
    if (state_.copies.at(event.worker, task) != nullptr)
        return attempts_.drop_copy(task, DroppedCopy::forget);
    const bool ticket = ledger_.state(task) == TaskState::sealed;
    if (ticket) attempts_.claim_ticket(event.worker, task, 0);
    // Its time was over before it started. If it were requeued unchanged, it would end the same way again.
    if (!ticket && !state_.run.stopping() && ledger_.attempted(task).kill_ordered) {
        attempts_.free(task);
        return hooks_.killed_as_slow(task, {});
    }
    attempts_.give_back(task);
}

void Reports::answered_recall(WorkerId id) {
    Worker* worker = workers_.find(id);
    if (worker != nullptr && worker->recalled > 0 && --worker->recalled == 0) workers_.changed(*worker);
}

// Decides what happens to a task whose attempt has ended, after its worker was freed.
void Reports::settle(TaskId task, const Outcome& outcome) {
    counters_.count_ended(state_.category_of(task), outcome);
    if (outcome.succeeded()) {
        hooks_.succeeded(task, outcome);
        return attempts_.succeed(task, outcome);
    }
    if (outcome.ending == Ending::killed && ledger_.attempted(task).kill_ordered && !state_.run.stopping())
        return hooks_.killed_as_slow(task, outcome);
    if (outcome.ending == Ending::killed) return attempts_.kill(task, outcome);
    Outcome told = outcome;
    if (is_exhaustion(outcome.ending) && hooks_.exhausted(task, told)) return;
    const bool its_end_time = fit_.ended_by_its_end_time(task, outcome);
    if (its_end_time) told.ending = Ending::expired;
    const bool again = ledger_.attempted(task).failures < state_.shape_of(task).retries && !its_end_time;
    again ? attempts_.retry(task, told) : attempts_.fail(task, std::move(told));
}

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
    counters_.count_stale(reported - counted);
    if (counted == 0) return;
    const std::int64_t all_us = std::clamp<std::int64_t>(event.wall_us, 0, longest_range_us);
    const double each_us = static_cast<double>(all_us) / static_cast<double>(reported);
    for (const auto& [what_ended, tasks] : ended) {
        const auto& [shape, given] = what_ended;
        const CategoryId category = ledger_.shape(shape).category;
        const auto wall_us = static_cast<std::int64_t>(each_us * static_cast<double>(tasks.count()));
        counters_.count_successes(category, wall_us);
        mean_wall_[shape].add(each_us);
        hooks_.range_succeeded(*worker, shape, tasks.count(), std::chrono::microseconds(wall_us),
                               std::chrono::microseconds(static_cast<std::int64_t>(each_us)));
        act(RangeEnded{event.worker, tasks, category, given, event.started_us, wall_us});
        tasks.for_each([&](Interval part) { attempts_.apply(groups_.succeeded(part)); });
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
        attempts_.drop_copy(task, DroppedCopy::kill);
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
    tickets.for_each([&](Interval part) { close_tickets(part, TaskEvent::succeed); });
    if (tickets.empty()) return;
    const auto count = static_cast<std::int64_t>(tickets.count());
    counters_.count_dispatched(ledger_.shape(state_.batch->shape).category, count);
    const Resources given = fit_.share_by_ticket(workers_.find(event.worker)->whole);
    ended[{state_.batch->shape, given}] = std::move(tickets);
}

}  // namespace wq::engine::policies
