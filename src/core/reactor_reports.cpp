// How attempts end.
#include <utility>

#include "core/reactor.h"

namespace wq::core {

namespace {
// Weight of the newest attempt in a shape's mean wall time.
constexpr double learning_rate = 0.1;
}  // namespace

bool Reactor::holds(WorkerId worker, TaskId task, Attempt attempt) const {
    if (task.value() >= ledger_.size() || workers_.find(worker) == nullptr) return false;
    const TaskState state = ledger_.state(task);
    if (state == TaskState::sealed) return attempt == 1 && batch_->members.contains(worker);
    if (state != TaskState::leased) return false;
    if (is_copy(worker, task, attempt)) return true;
    const Attempted* attempted = ledger_.find_attempted(task);
    return attempted->worker == worker && attempted->attempt == attempt;
}

// One lease less that is to come back.
void Reactor::answered_recall(WorkerId id) {
    Worker* worker = workers_.find(id);
    if (worker != nullptr && worker->recalled > 0 && --worker->recalled == 0) workers_.changed(*worker);
}

// A sealed task gets its record with the first word about it.
void Reactor::take_ticket_back(WorkerId worker, TaskId task, WallMicros started) {
    Attempted& attempted = ledger_.attempted(task);
    attempted.attempt = 1;
    attempted.by_ticket = true;
    attempted.worker = worker;
    attempted.given = share_by_ticket(workers_.find(worker)->whole);
    attempted.dispatched_us = started;
    batch_->outstanding.erase(task.value());
}

void Reactor::on_event(const TaskReported& event, Now now, Actions& actions) {
    if (!holds(event.worker, event.task, event.attempt)) {
        ++stale_;
        return;
    }
    recall_pause_ = first_recall_pause;
    if (is_copy(event.worker, event.task, event.attempt)) return on_copy_reported(event, now, actions);
    const bool ticket = ledger_.state(event.task) == TaskState::sealed;
    if (ticket) {
        take_ticket_back(event.worker, event.task, event.outcome.started_us);
        count_for(event.task, [](ManagerStats& stats) { ++stats.tasks_dispatched; });
    }
    judge_host(*workers_.find(event.worker), event.task, event.outcome, now, actions);
    if (event.outcome.ending == Ending::worker_lost) {  // its launcher died under it; the worker lives on
        lose(event.task, event.outcome.reason, true, now, actions);
    } else {
        free_lease(event.task);
        // One that was told to end says nothing of the others.
        if (event.outcome.ending != Ending::killed || !ledger_.attempted(event.task).told_to_end)
            learn(ledger_.shape_of(event.task), static_cast<double>(event.outcome.wall_us));
        settle(event.task, event.outcome, now, actions);
    }
    if (ticket) close_batch_if_over(actions);
}

void Reactor::on_event(const TaskGivenBack& event, Now now, Actions& actions) {
    answered_recall(event.worker);
    if (!holds(event.worker, event.task, event.attempt)) {
        ++stale_;
        return;
    }
    if (is_copy(event.worker, event.task, event.attempt)) return drop_copy(event.task, false, actions);
    const bool ticket = ledger_.state(event.task) == TaskState::sealed;
    if (ticket) take_ticket_back(event.worker, event.task, 0);
    // It had not even begun when its time was over: as it is, it would go the same way again.
    if (!ticket && !stop_ && ledger_.attempted(event.task).told_to_end) {
        free_lease(event.task);
        return abort_attempt(event.task, {}, now, actions);
    }
    give_back(event.task, actions);
    if (ticket) close_batch_if_over(actions);
}

void Reactor::give_back(TaskId task, Actions& actions) {
    free_lease(task);
    if (const Attempted& attempted = ledger_.attempted(task); !attempted.by_ticket && !copies_.contains(task))
        actions.push_back(GoneBack{task, attempted.attempt, ledger_.shape(ledger_.shape_of(task)).category,
                                   attempted.given});
    ledger_.change(task, TaskEvent::give_back);
    go_on_with_copy(task, actions);
}

// In a pool that is judged, what no worker has is not waited for; and retries would go the same way.
void Reactor::try_with_more(TaskId task, Shape larger, Outcome outcome, Now now, Actions& actions) {
    const Ask ask = ask_of(larger, state_of(larger.category).category);
    if (pool_is_judged(now) && !fits_somewhere(ask, larger)) {
        outcome.reason +=
            (outcome.reason.empty() ? "" : "; ") + ("no worker has " + describe(ask)) + " for another try";
        record(task, true, std::move(outcome), actions);
        return finish(task, false, now, actions);
    }
    ledger_.reshape(task, std::move(larger));
    note_shapes();
    // Else it would count as the try that gets the most.
    if (!copy_has(ask, task)) drop_copy(task, true, actions);
    try_again(task, TaskEvent::exhaust, std::move(outcome), now, actions);
}

void Reactor::settle(TaskId task, const Outcome& outcome, Now now, Actions& actions) {
    count_for(task, [&](ManagerStats& stats) {
        add_bounded(stats.time_execute, outcome.wall_us);
        if (outcome.succeeded()) add_bounded(stats.time_execute_good, outcome.wall_us);
        if (!is_exhaustion(outcome.ending)) return;
        ++stats.tasks_exhausted_attempts;
        add_bounded(stats.time_execute_exhaustion, outcome.wall_us);
    });
    if (outcome.succeeded()) {
        learn_sizes(task, outcome, actions);
        learn_pace(task, outcome, now);
        record(task, true, outcome, actions);
        finish(task, true, now, actions);
        return;
    }
    if (outcome.ending == Ending::killed && ledger_.attempted(task).told_to_end && !stop_)
        return abort_attempt(task, outcome, now, actions);
    if (outcome.ending == Ending::killed) {  // by our order: it is no fault of the task
        record(task, false, outcome, actions);
        ledger_.change(task, TaskEvent::give_back);
        return go_on_with_copy(task, actions);
    }
    if (is_exhaustion(outcome.ending))
        if (std::optional<Shape> larger = asks_for_more(task, outcome))
            return try_with_more(task, std::move(*larger), outcome, now, actions);
    const ShapeId id = ledger_.shape_of(task);
    const Shape& shape = ledger_.shape(id);
    // A task that names its memory and needs more fails at once. One that does not had what its worker could
    // give: elsewhere there may be more, or fewer neighbours. But it would never end where nobody says how
    // often.
    if (outcome.ending == Ending::out_of_memory && asked(id).needs.memory_mb < 0 &&
        ledger_.max_tries(task) > 0)
        return try_again(task, TaskEvent::exhaust, outcome, now, actions);
    const bool again =
        ledger_.attempted(task).failures < shape.retries && !ended_by_its_end_time(task, outcome);
    Outcome told = outcome;
    if (is_exhaustion(outcome.ending)) told.reason += beyond_its_maximum(task, outcome);
    record(task, !again, std::move(told), actions);
    if (!again) return finish(task, false, now, actions);
    ledger_.change(task, TaskEvent::retry);
    go_on_with_copy(task, actions);
}

void Reactor::lose(TaskId task, const std::string& why, bool blame, Now now, Actions& actions) {
    Outcome outcome;
    outcome.ending = Ending::worker_lost;
    outcome.reason = why;
    free_lease(task);
    count_for(task, [](ManagerStats& stats) { ++stats.tasks_lost_attempts; });
    if (!blame || stop_) {
        record(task, false, outcome, actions);
        ledger_.change(task, TaskEvent::give_back);
        return go_on_with_copy(task, actions);
    }
    try_again(task, TaskEvent::lose, std::move(outcome), now, actions);
}

namespace {

std::string of_all_tries(const Attempted& attempted, bool lost, std::uint32_t most) {
    if (lost && attempted.losses + 1 == most)
        return "lost " + std::to_string(most) + (most == 1 ? " worker" : " workers");
    return "tried " + std::to_string(most) + (most == 1 ? " time" : " times");
}

}  // namespace

// Its attempt ended by no fault of its own, which is so often enough.
void Reactor::try_again(TaskId task, TaskEvent event, Outcome outcome, Now now, Actions& actions) {
    const Attempted& attempted = ledger_.attempted(task);
    const auto [spent, most, of_all] = tries(task);
    const bool last = most > 0 && spent + 1 >= most && (of_all || event == TaskEvent::lose);
    if (!last) {
        record(task, false, std::move(outcome), actions);
        const bool was_last_chance = last_chance(task);
        ledger_.change(task, event);
        if (!was_last_chance && last_chance(task)) ++last_chances_;
        return go_on_with_copy(task, actions);
    }
    outcome.reason += (outcome.reason.empty() && event != TaskEvent::lose ? "" : "; ") +
                      of_all_tries(attempted, event == TaskEvent::lose, most);
    record(task, true, std::move(outcome), actions);
    std::get<AttemptEnded>(actions.back()).out_of_tries = true;
    finish(task, false, now, actions);
}

// What was too little, or too slow, is no sign of a task that kills its workers.
Reactor::Tries Reactor::tries(TaskId task) const {
    const Attempted* attempted = ledger_.find_attempted(task);
    if (const std::uint32_t own = ledger_.max_tries(task); own > 0)
        return {attempted == nullptr ? 0 : attempted->spent(), own, true};
    return {attempted == nullptr ? 0 : attempted->losses, options_.max_losses, false};
}

// Of a task that may have killed its workers.
bool Reactor::last_chance(TaskId task) const {
    const Attempted* attempted = ledger_.find_attempted(task);
    if (attempted == nullptr || attempted->losses == 0) return false;
    const Tries known = tries(task);
    return known.most > 0 && known.spent + 1 >= known.most;
}

void Reactor::free_lease(TaskId task) {
    if (ledger_.find_attempted(task) == nullptr) return;
    Attempted& attempted = ledger_.attempted(task);
    unwatch_pace(task, attempted);
    stop_watching_for_copy(task, attempted);
    if (Worker* worker = workers_.find(attempted.worker)) workers_.release(*worker, task, attempted.given);
}

void Reactor::record(TaskId task, bool final, Outcome outcome, Actions& actions) {
    const Attempted& attempted = ledger_.attempted(task);
    AttemptEnded ended;
    ended.task = task;
    ended.attempt = attempted.attempt;
    ended.final = final;
    ended.goes_on = !final && copies_.contains(task);
    ended.by_ticket = attempted.by_ticket;
    ended.worker = attempted.worker;
    ended.category = ledger_.shape(ledger_.shape_of(task)).category;
    ended.given = attempted.given;
    ended.submitted_us = ledger_.submitted(task);
    ended.dispatched_us = attempted.dispatched_us;
    ended.outcome = std::move(outcome);
    actions.push_back(std::move(ended));
}

void Reactor::finish(TaskId task, bool success, Now now, Actions& actions) {
    if (last_chance(task)) --last_chances_;
    drop_copy(task, true, actions);
    ledger_.change(task, success ? TaskEvent::succeed : TaskEvent::fail);
    if (!success) return end_in_failure(task, now, actions);
    apply(groups_.succeeded({task.value(), task.value() + 1}), actions);
}

void Reactor::end_in_failure(TaskId task, Now now, Actions& actions) {
    apply(groups_.failed({task.value(), task.value() + 1}), actions);
    if (options_.halt_on_failure && !stop_)
        on_event(StopRequested{StopReason::halted, Duration{0}}, now, actions);
}

void Reactor::learn(ShapeId shape, double wall_us) {
    double& mean = state_of(shape).mean_wall_us;
    mean = mean < 0 ? wall_us : mean + learning_rate * (wall_us - mean);
}

}  // namespace wq::core
