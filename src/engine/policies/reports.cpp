#include "engine/policies/reports.h"

#include <utility>

#include "engine/model/wall_time.h"

namespace wq::engine::policies {

void Reports::on(const TaskReported& event) {
    const auto& [id, task, attempt, outcome] = event;
    if (!attempts_.holds(id, task, attempt)) {
        ++state_.stale;
        return;
    }
    const Worker& worker = *workers_.find(id);
    if (const Copy* copy = state_.copies.at(id, task)) {
        hooks_.reported(worker, task, outcome, copy->since);
        return copy_reported(task, outcome);
    }
    if (ledger_.state(task) == TaskState::sealed) {
        attempts_.claim_ticket(id, task, outcome.started_us);
        state_.count_for(task, [](ManagerStats& stats) { ++stats.tasks_dispatched; });
    }
    const Attempted& attempted = ledger_.attempted(task);
    // No worker reports when a ticket's attempt began.
    hooks_.reported(worker, task, outcome,
                    attempted.by_ticket ? now() - wall_time(outcome) : attempted.since);
    if (outcome.ending == Ending::worker_lost)  // its launcher died; the worker still runs
        return attempts_.lose(task, outcome.reason, true);
    attempts_.free(task);
    // The run time of a task that was told to end says nothing about other tasks.
    if (outcome.ending != Ending::killed || !attempted.kill_ordered)
        state_.mean_wall[ledger_.shape_of(task)].add(static_cast<double>(outcome.wall_us));
    settle(task, outcome);
}

// A copy's failure is dropped: the first attempt either fails the same way, or succeeds.
void Reports::copy_reported(TaskId task, const Outcome& outcome) {
    if (!outcome.succeeded()) return attempts_.drop_copy(task, false);
    const Attempted& first = ledger_.attempted(task);
    state_.kill(first.worker, task, first.attempt);
    attempts_.free(task);
    attempts_.promote_copy(task);
    attempts_.free(task);
    settle(task, outcome);
}

void Reports::on(const TaskGivenBack& event) {
    answered_recall(event.worker);
    const TaskId task = event.task;
    if (!attempts_.holds(event.worker, task, event.attempt)) {
        ++state_.stale;
        return;
    }
    if (state_.copies.at(event.worker, task) != nullptr) return attempts_.drop_copy(task, false);
    const bool ticket = ledger_.state(task) == TaskState::sealed;
    if (ticket) attempts_.claim_ticket(event.worker, task, 0);
    // Its time was over before it started. If it were requeued unchanged, it would end the same way again.
    if (!ticket && !state_.stopping && ledger_.attempted(task).kill_ordered) {
        attempts_.free(task);
        return hooks_.killed_as_slow(task, {});
    }
    attempts_.give_back(task);
}

void Reports::answered_recall(WorkerId id) {
    Worker* worker = workers_.find(id);
    if (worker != nullptr && worker->recalled > 0 && --worker->recalled == 0) workers_.changed(*worker);
}

void Reports::count(TaskId task, const Outcome& outcome) {
    state_.count_for(task, [&](ManagerStats& stats) {
        add_bounded(stats.time_execute, outcome.wall_us);
        if (outcome.succeeded()) add_bounded(stats.time_execute_good, outcome.wall_us);
        if (!is_exhaustion(outcome.ending)) return;
        ++stats.tasks_exhausted_attempts;
        add_bounded(stats.time_execute_exhaustion, outcome.wall_us);
    });
}

// Decides what happens to a task whose attempt has ended, after its worker was freed.
void Reports::settle(TaskId task, const Outcome& outcome) {
    count(task, outcome);
    if (outcome.succeeded()) {
        hooks_.succeeded(task, outcome);
        return attempts_.succeed(task, outcome);
    }
    if (outcome.ending == Ending::killed && ledger_.attempted(task).kill_ordered && !state_.stopping)
        return hooks_.killed_as_slow(task, outcome);
    if (outcome.ending == Ending::killed) return attempts_.kill(task, outcome);
    Outcome told = outcome;
    if (is_exhaustion(outcome.ending) && hooks_.exhausted(task, told)) return;
    const bool its_end_time = fit_.ended_by_its_end_time(task, outcome);
    if (its_end_time) told.ending = Ending::expired;
    const bool again = ledger_.attempted(task).failures < state_.shape_of(task).retries && !its_end_time;
    again ? attempts_.retry(task, told) : attempts_.fail(task, std::move(told));
}

}  // namespace wq::engine::policies
