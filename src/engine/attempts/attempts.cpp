#include "engine/attempts/attempts.h"

#include <utility>

namespace wq::engine::attempts {

namespace {

std::string of_all_tries(const Attempted& attempted, bool lost, std::uint32_t most) {
    if (lost && attempted.losses + 1 == most)
        return "lost " + std::to_string(most) + (most == 1 ? " worker" : " workers");
    return "tried " + std::to_string(most) + (most == 1 ? " time" : " times");
}

}  // namespace

// ---- begin ----

void Attempts::lease(Worker& worker, TaskId task, ShapeId shape, Among among) {
    const Shape& what = ledger_.shape(shape);
    ledger_.change(task, TaskEvent::lease);
    Attempted& attempted = ledger_.attempted(task);
    attempted.attempt = attempted.next();
    // A lost rank may have had a ticket for it, which was attempt 1.
    if (attempted.attempt == 1 && state_.doubtful.contains(task.value())) attempted.attempt = 2;
    attempted.by_ticket = false;
    attempted.worker = worker.id;
    attempted.given = fit_.given_now(shape, worker);
    attempted.dispatched_us = event_.wall();
    attempted.since = event_.now();
    attempted.kill_ordered = false;
    state_.workers.lease(worker, task, attempted.given);
    // Recalls need the order of workers by each resource that a lease may wait for in a launcher.
    for (const Scarce what_it_holds : orders_for(attempted.given)) state_.workers.keep_order(what_it_holds);
    hooks_.leased(task, attempted);
    state_.avoided.remove(task);
    if (among == Among::suspects) {
        worker.suspect = task;
        worker.alone = last_chance(task);
    }
    counters_.count_dispatched(what.category);
    event_.act(Lease{worker.id, task, attempted.attempt, attempted.given, fit_.time_for(task),
                     fit_.watch_of(shape, attempted.given), what.category, ledger_.submitted(task)});
}

void Attempts::adopt_ticket(Worker& worker, TaskId task) {
    ledger_.change(task, TaskEvent::give_back);
    ledger_.change(task, TaskEvent::lease);
    claim_ticket(worker.id, task, event_.wall());
    Attempted& attempted = ledger_.attempted(task);
    attempted.since = event_.now();
    attempted.kill_ordered = false;
    state_.workers.lease(worker, task, attempted.given);
    hooks_.leased(task, attempted);
    counters_.count_dispatched(state_.category_of(task));
}

void Attempts::copy(TaskId task, Worker& worker) {
    Attempted& attempted = ledger_.attempted(task);
    const ShapeId shape = ledger_.shape_of(task);
    const Shape& what = ledger_.shape(shape);
    attempted.last = attempted.next();
    const Resources given = fit_.share(shape, worker.whole);
    state_.copies.add_copy(task, {worker.id, attempted.last, given, event_.now(), event_.wall()});
    state_.workers.lease(worker, task, given);
    counters_.count_copy(what.category);
    event_.act(Lease{worker.id, task, attempted.last, given, fit_.time_for(task), fit_.watch_of(shape, given),
                     what.category, ledger_.submitted(task), true});
}

void Attempts::claim_ticket(WorkerId worker, TaskId task, WallMicros started) {
    Attempted& attempted = ledger_.attempted(task);
    attempted.attempt = 1;
    attempted.by_ticket = true;
    attempted.worker = worker;
    attempted.given = fit_.share_by_ticket(state_.workers.find(worker)->whole);
    attempted.dispatched_us = started;
    state_.batch->outstanding.erase(task.value());
}

bool Attempts::holds(WorkerId worker, TaskId task, Attempt attempt) const {
    if (task.value() >= ledger_.size() || state_.workers.find(worker) == nullptr) return false;
    const TaskState state = ledger_.state(task);
    if (state == TaskState::sealed) return attempt == 1 && state_.batch->members.contains(worker);
    if (state != TaskState::leased) return false;
    const Copy* const copy = state_.copies.at(worker, task);
    if (copy != nullptr && copy->attempt == attempt) return true;
    const Attempted* attempted = ledger_.find_attempted(task);
    return attempted->worker == worker && attempted->attempt == attempt;
}

// ---- end, and perhaps begin again ----

void Attempts::free(TaskId task) {
    if (ledger_.find_attempted(task) == nullptr) return;
    Attempted& attempted = ledger_.attempted(task);
    hooks_.freed(task, attempted);
    if (Worker* worker = state_.workers.find(attempted.worker))
        state_.workers.release(*worker, task, attempted.given);
}

void Attempts::requeue(TaskId task) {
    ledger_.change(task, TaskEvent::give_back);
    go_on_with_copy(task);
}

void Attempts::give_back(TaskId task) {
    free(task);
    Attempted& attempted = ledger_.attempted(task);
    if (!attempted.by_ticket && !copy_goes_on(task, TaskEvent::give_back))
        event_.act(LeaseRequeued{task, attempted.attempt, state_.category_of(task), attempted.given});
    ++attempted.unstarted;
    requeue(task);
}

void Attempts::try_again(TaskId task, TaskEvent event, Outcome outcome) {
    const Attempted& attempted = ledger_.attempted(task);
    const bool lost = event == TaskEvent::lose;
    const auto [spent, most, all_count] = tries(task);
    if (most > 0 && spent + 1 >= most && (all_count || lost)) {
        outcome.reason += (outcome.reason.empty() && !lost ? "" : "; ") + of_all_tries(attempted, lost, most);
        return fail(task, std::move(outcome), FinalFailure::out_of_tries);
    }
    record(task, event, std::move(outcome));
    const bool was_last_chance = last_chance(task);
    ledger_.change(task, event);
    if (!was_last_chance && last_chance(task)) ++last_chances_;
    go_on_with_copy(task);
}

void Attempts::retry(TaskId task, const Outcome& outcome) {
    record(task, TaskEvent::retry, outcome);
    ledger_.change(task, TaskEvent::retry);
    go_on_with_copy(task);
}

void Attempts::lose(TaskId task, const std::string& why, Blame blame) {
    Outcome outcome;
    outcome.ending = Ending::worker_lost;
    outcome.reason = why;
    free(task);
    counters_.count_lost_attempt(state_.category_of(task));
    if (blame == Blame::nobody || state_.run.stopping()) return kill(task, outcome);
    try_again(task, TaskEvent::lose, std::move(outcome));
}

void Attempts::kill(TaskId task, const Outcome& outcome) {
    record(task, TaskEvent::give_back, outcome);
    requeue(task);
}

void Attempts::succeed(TaskId task, const Outcome& outcome) {
    record(task, std::nullopt, outcome);
    forget_last_chance(task);
    drop_copy(task, DroppedCopy::kill);
    ledger_.change(task, TaskEvent::succeed);
    apply(state_.groups.succeeded({task.value(), task.value() + 1}));
}

void Attempts::fail(TaskId task, Outcome outcome, FinalFailure why) {
    record(task, std::nullopt, std::move(outcome), why);
    forget_last_chance(task);
    drop_copy(task, DroppedCopy::kill);
    ledger_.change(task, TaskEvent::fail);
    apply(state_.groups.failed({task.value(), task.value() + 1}));
    hooks_.failed(task);
}

void Attempts::expire(TaskId task) {
    const Attempted* attempted = ledger_.find_attempted(task);
    AttemptEnded ended;
    ended.task = task;
    ended.attempt = attempted == nullptr ? 1 : attempted->next();
    ended.unstarted = attempted == nullptr ? 0 : attempted->unstarted;
    ended.worker = unknown_worker;
    ended.shape = ledger_.shape_of(task);
    ended.category = ledger_.shape(ended.shape).category;
    ended.submitted_us = ledger_.submitted(task);
    const bool was_ready = ledger_.state(task) == TaskState::ready && !ledger_.early().contains(task.value());
    if (was_ready) ended.ready_us = ledger_.ready_since(task);
    ended.outcome.ending = Ending::expired;
    event_.act(std::move(ended));
    forget_last_chance(task);
    ledger_.change(task, TaskEvent::expire);
    state_.avoided.remove(task);
    apply(state_.groups.failed({task.value(), task.value() + 1}));
    hooks_.failed(task);
}

void Attempts::cancel(TaskId task) {
    if (ledger_.state(task) == TaskState::leased) {
        const Attempted& attempted = ledger_.attempted(task);
        event_.kill(attempted.worker, task, attempted.attempt);
        free(task);
        drop_copy(task, DroppedCopy::kill);
    }
    state_.avoided.remove(task);
    forget_last_chance(task);
    ledger_.change(task, TaskEvent::cancel);
}

void Attempts::skip_ready(ShapeId shape, const std::function<Skipped(IntervalSet)>& why) {
    const ReadyTasks queues = ledger_.ready(shape);
    IntervalSet all;
    const auto one_by_one = [&](Interval part) {
        all.insert(part);
        for (std::uint64_t id = part.first; id < part.end; ++id) {
            forget_last_chance(TaskId(id));
            ledger_.change(TaskId(id), TaskEvent::skip);
        }
        state_.avoided.remove(part);
    };
    for (const auto& [priority, queue] : queues.queues) {
        queue.fresh.for_each([&](Interval part) {
            all.insert(part);
            ledger_.change(part, TaskEvent::skip);
        });
        queue.again.for_each(one_by_one);
    }
    queues.suspects.for_each(one_by_one);
    event_.act(why(all));
    all.for_each([&](Interval part) { apply(state_.groups.failed(part)); });
}

void Attempts::apply(const GroupChange& change) {
    const IntervalSet dead = ledger_.unended(change.dead);
    dead.for_each([&](Interval part) {
        ledger_.change(part, TaskEvent::skip);
        state_.avoided.remove(part);
    });
    if (!dead.empty()) {
        const bool cancelled = ledger_.state(change.because) == TaskState::cancelled;
        const std::string reason = "task " + std::to_string(change.because.value()) + " of its group " +
                                   (cancelled ? "was cancelled" : "failed");
        event_.act(Skipped{dead, reason, change.because});
    }
    ledger_.unended(change.unblocked).for_each([&](Interval part) {
        ledger_.change(part, TaskEvent::unblock);
    });
}

// ---- copies ----

void Attempts::drop_copy(TaskId task, DroppedCopy order) {
    const auto copy = state_.copies.take(task);
    if (!copy) return;
    if (order == DroppedCopy::kill) event_.kill(copy->worker, task, copy->attempt);
    if (Worker* worker = state_.workers.find(copy->worker))
        state_.workers.release(*worker, task, copy->given);
}

void Attempts::promote_copy(TaskId task) {
    const Copy copy = *state_.copies.take(task);
    Attempted& attempted = ledger_.attempted(task);
    attempted.attempt = copy.attempt;
    attempted.by_ticket = false;
    attempted.kill_ordered = false;
    attempted.worker = copy.worker;
    attempted.given = copy.given;
    attempted.since = copy.since;
    attempted.ready_us = copy.dispatched_us;  // nothing but our decision was in its way
    attempted.dispatched_us = copy.dispatched_us;
}

// Whether its copy takes its place when `event` makes it ready again. Not if its next loss would then be
// final: it must run alone.
bool Attempts::copy_goes_on(TaskId task, TaskEvent event) const {
    if (state_.run.stopping() || !state_.copies.contains(task)) return false;
    const Tries known = tries(task);
    const bool lost = event == TaskEvent::lose;
    if (known.most == 0 || ledger_.find_attempted(task)->losses + (lost ? 1 : 0) == 0) return true;
    const bool counts =
        lost || (known.all_count && (event == TaskEvent::exhaust || event == TaskEvent::abort));
    return known.spent + (counts ? 1 : 0) + 1 < known.most;
}

// The task is ready again.
void Attempts::go_on_with_copy(TaskId task) {
    if (!copy_goes_on(task, TaskEvent::give_back)) return drop_copy(task, DroppedCopy::kill);
    ledger_.change(task, TaskEvent::lease);
    promote_copy(task);
    hooks_.leased(task, ledger_.attempted(task));
}

// ---- facts ----

// Attempts that got too few resources, or were too slow, do not suggest that the task kills its workers.
Attempts::Tries Attempts::tries(TaskId task) const {
    const Attempted* attempted = ledger_.find_attempted(task);
    if (const std::uint32_t own = ledger_.max_tries(task); own > 0)
        return {attempted == nullptr ? 0 : attempted->spent(), own, true};
    return {attempted == nullptr ? 0 : attempted->losses, state_.options.max_losses, false};
}

bool Attempts::last_chance(TaskId task) const {
    const Attempted* attempted = ledger_.find_attempted(task);
    if (attempted == nullptr || attempted->losses == 0) return false;
    const Tries known = tries(task);
    return known.most > 0 && known.spent + 1 >= known.most;
}

void Attempts::record(TaskId task, std::optional<TaskEvent> again, Outcome outcome, FinalFailure why) {
    const Attempted& attempted = ledger_.attempted(task);
    AttemptEnded ended;
    ended.task = task;
    ended.attempt = attempted.attempt;
    ended.unstarted = attempted.unstarted;
    ended.final = !again;
    ended.by_ticket = attempted.by_ticket;
    ended.out_of_tries = why == FinalFailure::out_of_tries;
    ended.goes_on = again && copy_goes_on(task, *again);
    ended.worker = attempted.worker;
    ended.shape = ledger_.shape_of(task);
    ended.category = ledger_.shape(ended.shape).category;
    ended.given = attempted.given;
    ended.submitted_us = ledger_.submitted(task);
    ended.ready_us = attempted.ready_us;
    ended.dispatched_us = attempted.dispatched_us;
    ended.outcome = std::move(outcome);
    event_.act(std::move(ended));
}

std::optional<std::string> Attempts::audit() const {
    std::uint64_t last_chances = 0;
    for (std::uint64_t id = 0; id < ledger_.size(); ++id) {
        const TaskId task(id);
        if (last_chance(task)) ++last_chances;
        const Tries known = tries(task);
        if (ledger_.find_attempted(task) != nullptr && known.most > 0 && known.spent >= known.most)
            return "task " + std::to_string(id) + " was tried too often, and goes on";
    }
    if (last_chances != last_chances_) return "the count of last chances is wrong";
    return std::nullopt;
}

}  // namespace wq::engine::attempts
