// Workers that join, are heard, fall silent and leave.
#include "core/reactor.h"

namespace wq::core {

void Reactor::on_event(const WorkerJoined& event, Now now, Actions& actions) {
    if (Worker* old = workers_.find(event.worker)) remove_worker(*old, "joined anew", true, now, actions);
    workers_.add(event, now.instant);
    ++joined_;
    ++pool_version_;
    if (event.takes_tickets) pool_.insert(event.worker);
}

void Reactor::on_event(const WorkerHeard& event, Now now, Actions& actions) {
    if (Worker* worker = workers_.find(event.worker)) workers_.heard(*worker, now.instant);
    drop_silent_workers(now, actions);
}

void Reactor::on_event(const WorkerLeft& event, Now now, Actions& actions) {
    if (Worker* worker = workers_.find(event.worker)) remove_worker(*worker, event.why, event.lost, now, actions);
}

void Reactor::remove_worker(Worker& worker, const std::string& why, bool lost, Now now, Actions& actions) {
    const WorkerId id = worker.id;
    const std::string host = worker.host;
    const std::vector<TaskId> leases(worker.leases.begin(), worker.leases.end());
    // Only what could have been running is to blame for the loss of a worker. A task that waited for a core is not,
    // but nobody can tell any more which ones waited: more leases than lanes means short tasks, where a wrong guess
    // costs little, and suspects run one at a time, where there is no guess.
    for (const TaskId task : leases) lose(task, "worker " + std::to_string(id.value()) + " on " + host + ": " + why, lost, now, actions);
    if (batch_ && pool_.contains(id)) {
        batch_->accounts.erase(id);
        if (lost) batch_->lost_lanes += static_cast<std::uint64_t>(worker.whole.cores);
    }
    pool_.erase(id);
    if (reserved_ && reserved_->second == id) reserved_.reset();
    workers_.remove(id);
    ++pool_version_;
    ++counters_.workers_removed;
    if (lost) ++lost_;
    reconcile(now, actions);
}

void Reactor::drop_silent_workers(Now now, Actions& actions) {
    while (const Worker* quiet = workers_.quietest()) {
        if (now.instant - quiet->last_heard < options_.silence) return;
        const WorkerId id = quiet->id;
        const std::string why = "silent for " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(options_.silence).count()) + " s";
        actions.push_back(Dismiss{id, why, true});
        remove_worker(*workers_.find(id), why, true, now, actions);
    }
}

bool Reactor::pool_complete(Now now) const {
    return joined_ >= options_.expected_workers || now.instant - started_.instant >= options_.join_limit;
}

}  // namespace wq::core
