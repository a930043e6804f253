// Second copies of the last stragglers: when nothing else is left to be given out, a task that takes much
// longer than others of its category runs a second time on a worker that has nothing to do. What succeeds
// first counts; the other one is ended, and what it says is stale, as the two are attempts of their own.
//
// The ledger knows of one attempt, the first of the two; the copy stands here. Where the first one comes to
// nothing, with its worker or by a limit, the copy takes its place.
#include <algorithm>

#include "core/allocation.h"
#include "core/reactor.h"

namespace wq::core {

namespace {
constexpr int workers_looked_at = 8;  // of one kind
constexpr Duration shortest_pause = std::chrono::seconds(1);
constexpr Duration longest_pause = std::chrono::minutes(1);
// Stragglers that are looked at in a row and find no worker.
constexpr int most_in_vain = 16;
}  // namespace

void Reactor::watch_for_copies(double multiplier) {
    stragglers_.set(CategoryId(0), multiplier);
    copies_stragglers_ = stragglers_.watches();
    stragglers_.forget();
    for (const auto& [id, worker] : workers_.all())
        for (const TaskId task : worker.leases) {
            Attempted& attempted = ledger_.attempted(task);
            if (attempted.worker != id) continue;
            attempted.straggling.reset();
            watch_for_copy(task, attempted);
        }
}

// Files of a task come home under one name, and of what cannot be ended two would run to their ends.
void Reactor::watch_for_copy(TaskId task, Attempted& attempted) {
    const Shape& shape = ledger_.shape(ledger_.shape_of(task));
    if (!copies_stragglers_ || shape.leased_only || shape.unstoppable || copies_.contains(task)) return;
    attempted.straggling = PaceMark{shape.category, 0, attempted.since, {}};
    stragglers_.began(task, *attempted.straggling);
}

void Reactor::stop_watching_for_copy(TaskId task, Attempted& attempted) {
    if (!attempted.straggling) return;
    stragglers_.ended(task, *attempted.straggling);
    attempted.straggling.reset();
}

// Neither leases nor tickets wait for a worker.
bool Reactor::nothing_waits() const {
    return ledger_.ready_shapes().empty() && ledger_.suspect_shapes().empty() && !batch_ && avoided_.empty();
}

std::optional<Instant> Reactor::next_copy() const {
    const auto next = stragglers_.next();
    if (!next) return std::nullopt;
    return std::max(*next, copies_pause_until_);
}

// However many tasks run: where none can be copied a few of them are looked at, and the others later.
void Reactor::copy_stragglers(Now now, Actions& actions) {
    if (now.instant < copies_pause_until_ || !stragglers_.due(now.instant)) return;
    copies_pause_until_ = now.instant + shortest_pause;
    if (!gives_out() || !nothing_waits()) return;
    int in_vain = 0;
    while (const auto task = stragglers_.due(now.instant)) {
        Attempted& attempted = ledger_.attempted(*task);
        const CategoryId category = ledger_.shape(ledger_.shape_of(*task)).category;
        Worker* idle = nullptr;
        if (attempted.losses == 0 && !attempted.told_to_end) idle = idle_elsewhere(*task, now);
        if (idle != nullptr) {
            copy(*task, *idle, now, actions);
            continue;
        }
        if (++in_vain > most_in_vain) return;
        const Duration usual = stragglers_.mean(category).value_or(longest_pause);
        stragglers_.ended(*task, *attempted.straggling);
        attempted.straggling->again_at =
            now.instant + std::clamp<Duration>(usual, shortest_pause, longest_pause);
        stragglers_.began(*task, *attempted.straggling);
    }
    copies_pause_until_ = now.instant;
}

// A worker with room for it, on another host if one of those that are looked at is.
Worker* Reactor::idle_elsewhere(TaskId task, Now now) {
    const ShapeId shape = ledger_.shape_of(task);
    const Shape& what = ledger_.shape(shape);
    const Worker* first = workers_.find(ledger_.attempted(task).worker);
    Worker* best = nullptr;
    const auto consider = [&](WorkerId id) {
        Worker* worker = workers_.find(id);
        ++looks_;
        if (worker == nullptr || worker == first || !is_open_to(*worker, shape, false, now)) return false;
        if (!worker->fits(share(shape, worker->whole))) return false;
        if (best == nullptr || best->host == first->host) best = worker;
        return best->host != first->host;
    };
    for (const WorkerId id : what.workers)
        if (consider(id)) return best;
    if (!what.workers.empty()) return best;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        if (!ever_holds(kind.at_most.whole, kind.at_most.features, ledger_.shape_of(task))) continue;
        for (const Scarce scarce : orders_for(share(shape, kind.at_most.whole))) {
            workers_.keep_order(scarce);
            const Places& places = of_kind.by(scarce);
            int looked = 0;
            for (auto place = places.begin(); place != places.end() && ++looked <= workers_looked_at; ++place)
                if (consider(place->id)) return best;
        }
    }
    return best;
}

void Reactor::copy(TaskId task, Worker& worker, Now now, Actions& actions) {
    Attempted& attempted = ledger_.attempted(task);
    stop_watching_for_copy(task, attempted);
    const ShapeId shape = ledger_.shape_of(task);
    const Shape& what = ledger_.shape(shape);
    attempted.last = attempted.next();
    const Resources given = share(shape, worker.whole);
    const Copy made{worker.id, attempted.last, given, now.instant, now.wall};
    copies_.emplace(task, made);
    workers_.lease(worker, task, made.given);
    count_for(task, [](ManagerStats& stats) { ++stats.tasks_dispatched, ++stats.tasks_copied_attempts; });
    actions.push_back(Lease{worker.id, task, made.attempt, made.given, time_for(task, now),
                            watch_of(shape, given), what.category, ledger_.submitted(task), true});
}

const Reactor::Copy* Reactor::copy_at(WorkerId worker, TaskId task) const {
    if (copies_.empty()) return nullptr;
    const auto found = copies_.find(task);
    return found != copies_.end() && found->second.worker == worker ? &found->second : nullptr;
}

bool Reactor::is_copy(WorkerId worker, TaskId task, Attempt attempt) const {
    const Copy* copy = copy_at(worker, task);
    return copy != nullptr && copy->attempt == attempt;
}

// A copy that fails tells nothing that the first attempt will not tell, too, unless it does better.
void Reactor::on_copy_reported(const TaskReported& event, Now now, Actions& actions) {
    judge_host(*workers_.find(event.worker), event.task, event.outcome, now, actions);
    if (!event.outcome.succeeded()) return drop_copy(event.task, false, actions);
    const Attempted& first = ledger_.attempted(event.task);
    tell_to_kill(first.worker, {event.task.value(), event.task.value() + 1}, first.attempt, actions);
    free_lease(event.task);
    take_copy(event.task);
    free_lease(event.task);
    settle(event.task, event.outcome, now, actions);
}

// As the attempt that the ledger knows of.
void Reactor::take_copy(TaskId task) {
    const Copy copy = copies_.extract(task).mapped();
    Attempted& attempted = ledger_.attempted(task);
    attempted.attempt = copy.attempt;
    attempted.by_ticket = false;
    attempted.told_to_end = false;
    attempted.worker = copy.worker;
    attempted.given = copy.given;
    attempted.since = copy.since;
    attempted.dispatched_us = copy.dispatched_us;
}

// Whether its copy was given all that one who asks for that would be given there.
bool Reactor::copy_has(const Ask& ask, TaskId task) const {
    const auto found = copies_.find(task);
    if (found == copies_.end()) return false;
    const Resources& whole = workers_.find(found->second.worker)->whole;
    return ever_fits(ask, whole) && allocate(ask, whole, options_.allocation).fits_in(found->second.given);
}

void Reactor::drop_copy(TaskId task, bool kill, Actions& actions) {
    const auto found = copies_.find(task);
    if (found == copies_.end()) return;
    const Copy copy = found->second;
    copies_.erase(found);
    if (kill) tell_to_kill(copy.worker, {task.value(), task.value() + 1}, copy.attempt, actions);
    if (Worker* worker = workers_.find(copy.worker)) workers_.release(*worker, task, copy.given);
}

// The first attempt came to nothing and the task is ready again: its copy goes on in its place. But a last
// chance is to run by itself.
void Reactor::go_on_with_copy(TaskId task, Actions& actions) {
    if (!copies_.contains(task)) return;
    if (stop_ || last_chance(task)) return drop_copy(task, true, actions);
    ledger_.change(task, TaskEvent::lease);
    take_copy(task);
    if (watches_pace_) watch_pace(task, ledger_.attempted(task));
    watch_for_copy(task, ledger_.attempted(task));
}

std::optional<std::string> Reactor::audit_copies() const {
    if (auto wrong = stragglers_.audit()) return wrong;
    for (const auto& [task, copy] : copies_) {
        const std::string name = "the copy of task " + std::to_string(task.value());
        const Attempted* first = ledger_.find_attempted(task);
        if (first == nullptr || !first->leased) return name + " is alone";
        if (first->worker == copy.worker) return name + " is at the same worker";
        if (copy.attempt <= first->attempt || copy.attempt > first->last)
            return name + " is no attempt of its own";
        const Worker* worker = workers_.find(copy.worker);
        if (worker == nullptr || !worker->leases.contains(task)) return name + " is not at its worker";
    }
    return std::nullopt;
}

}  // namespace wq::core
