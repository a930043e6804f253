#include "engine/policies/membership.h"

#include <algorithm>
#include <set>
#include <vector>

namespace wq::engine::policies {

namespace {

std::string whole_seconds(Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

void Membership::on(const WorkerJoined& event) {
    if (Worker* old = workers_.find(event.worker)) remove(*old, "joined anew", Parting::lost);
    Worker& worker = workers_.add(event, event_.listening().now());
    if (state_.blocks.find(event.host) != nullptr) {
        workers_.block(worker);
        counters_.count_blocked();
    }
    counters_.count_joined();
    pool_state_.note_availability(worker);
    hooks_.worker_joined(worker);
    hooks_.pool_changed(PoolChange::more_workers);
    if (workers_.size() >= state_.options.expected_workers) pool_state_.settle(now());
}

void Membership::on(const WorkerHeard& event) {
    if (Worker* worker = workers_.find(event.worker)) workers_.mark_heard(*worker, event_.listening().now());
    remove_silent_workers();
}

void Membership::on(const WorkerLeft& event) {
    if (Worker* worker = workers_.find(event.worker))
        remove(*worker, event.why, event.lost ? Parting::lost : Parting::left);
}

void Membership::on(const WorkerDisconnected& event) {
    Worker* worker = workers_.find(event.worker);
    if (worker == nullptr) return;
    const Instant since = event_.listening().now();
    if (worker->disconnected() && *worker->disconnected_until >= since + event.limit) return;
    if (event.limit <= Duration{0}) return remove(*worker, event.why, Parting::lost);
    workers_.set_disconnected(*worker, since, event.limit, event.why);
    pool_state_.note_availability(*worker);
}

// Any message may have been lost when the connection broke, so the worker's list of its tasks decides.
void Membership::on(const WorkerReconnected& event) {
    Worker* worker = workers_.find(event.worker);
    if (worker == nullptr) {
        counters_.count_stale();
        return;
    }
    workers_.set_reconnected(*worker, event_.listening().now());
    if (worker->available()) pool_state_.note_availability(*worker);
    std::set<TaskId> kept;
    IntervalSet tickets;
    for (const auto& [task, attempt] : event.holding) {
        if (!attempts_.holds(worker->id, task, attempt))
            event_.kill(worker->id, task, attempt);
        else if (ledger_.state(task) == TaskState::sealed)
            tickets.insert(task.value());
        else if (kept.insert(task).second && state_.copies.at(worker->id, task) == nullptr)
            hooks_.lease_kept(task);
    }
    const std::vector<TaskId> leases(worker->leases.begin(), worker->leases.end());
    for (const TaskId task : leases) {
        if (kept.contains(task)) continue;
        state_.copies.at(worker->id, task) != nullptr ? attempts_.drop_copy(task, DroppedCopy::forget)
                                                      : attempts_.give_back(task);
    }
    hooks_.reconnected(*worker, tickets);
}

void Membership::on(const WorkerDraining& event) {
    Worker* worker = workers_.find(event.worker);
    if (worker == nullptr || worker->draining == event.on) return;
    event.on ? workers_.drain(*worker) : workers_.end_draining(*worker);
    if (event.on || worker->available()) pool_state_.note_availability(*worker);
    if (event.on && event.made_to && state_.may_claim(*worker)) revoke_batch();
}

void Membership::remove(Worker& worker, const std::string& why, Parting how) {
    const WorkerId id = worker.id;
    const RemovedWorker gone{id, worker.host, worker.whole,
                             "worker " + std::to_string(id.value()) + " on " + worker.host + ": " + why, how};
    // We cannot tell which of its leases ran, which were queued, and which one is to blame. All of them
    // become suspects. On its last chance a suspect runs alone, so that the blame is clear.
    const std::vector<TaskId> leases(worker.leases.begin(), worker.leases.end());
    for (const TaskId task : leases)
        state_.copies.at(id, task) != nullptr
            ? attempts_.drop_copy(task, DroppedCopy::forget)
            : attempts_.lose(task, gone.reason, how == Parting::lost ? Blame::task : Blame::nobody);
    const Duration rejoin_limit = state_.options.rejoin_limit;
    if (rejoin_limit > Duration{0}) pool_state_.expect_again(worker, now() + rejoin_limit);
    workers_.remove(id);
    pool_state_.forget(id);
    counters_.count_gone(how);
    hooks_.pool_changed(PoolChange::less_room);
    hooks_.worker_gone(gone);
}

void Membership::dismiss(WorkerId id, const std::string& why) {
    act(Dismiss{id, why, true});
    remove(*workers_.find(id), why, Parting::lost);
}

void Membership::remove_silent_workers() {
    for (const Worker* quiet = workers_.quietest();
         quiet != nullptr && event_.listening().silent(quiet->last_heard); quiet = workers_.quietest())
        dismiss(quiet->id, "silent for " + whole_seconds(state_.options.silence));
}

void Membership::remove_those_disconnected_too_long() {
    for (const Worker* first = workers_.first_given_up();
         first != nullptr && event_.listening().now() >= *first->disconnected_until;
         first = workers_.first_given_up())
        dismiss(first->id, first->disconnected_why + "; did not reconnect within " +
                               whole_seconds(first->disconnect_limit));
}

void Membership::tick() {
    remove_silent_workers();
    remove_those_disconnected_too_long();
}

std::optional<Instant> Membership::next_due() const {
    Instant next = Instant::max();
    if (const Worker* worker = workers_.quietest())
        next = event_.listening().next_look(event_.listening().silence_ends(worker->last_heard));
    if (const Worker* worker = workers_.first_given_up())
        next = std::min(next, event_.listening().next_look(*worker->disconnected_until));
    for (const Instant at : {state_.pool.settled_at(), state_.pool.ranks_settled_at()})
        if (now() < at) next = std::min(next, at);
    return next == Instant::max() ? std::nullopt : std::optional(next);
}

}  // namespace wq::engine::policies
