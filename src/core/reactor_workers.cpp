// Workers that join, are heard, fall silent and leave.
#include "core/reactor.h"

namespace wq::core {

void Reactor::on_event(const WorkerJoined& event, Now now, Actions& actions) {
    if (Worker* old = workers_.find(event.worker)) remove_worker(*old, "joined anew", true, now, actions);
    const bool blocked = blocks_.find(event.host) != nullptr;
    note_functions(workers_.add(event, attentive_, blocked));
    if (blocked) ++counters_.workers_blocked;
    tell_what_waits_later(now, true);
    ++joined_;
    ++pool_version_;
    if (event.takes_tickets && !blocked) pool_.insert(event.worker);
    if (workers_.size() < options_.expected_workers) return;
    settled_at_ = std::min(settled_at_, now.instant);
    pool_settled_at_ = std::min(pool_settled_at_, now.instant);
}

void Reactor::on_event(const WorkerHeard& event, Now now, Actions& actions) {
    if (Worker* worker = workers_.find(event.worker)) workers_.heard(*worker, attentive_);
    drop_silent_workers(now, actions);
}

void Reactor::on_event(const WorkerLeft& event, Now now, Actions& actions) {
    if (Worker* worker = workers_.find(event.worker))
        remove_worker(*worker, event.why, event.lost, now, actions);
}

void Reactor::remove_worker(Worker& worker, const std::string& why, bool lost, Now now, Actions& actions) {
    const WorkerId id = worker.id;
    const bool took_tickets = worker.takes_tickets;
    const std::string reason = "worker " + std::to_string(id.value()) + " on " + worker.host + ": " + why;
    const Resources whole = worker.whole;
    // Which of its leases ran and which waited for a core, nobody can tell any more, nor which one is to
    // blame. All of them are suspects, and the last chance of a suspect is a run of its own, where there is
    // no doubt.
    const std::vector<TaskId> leases(worker.leases.begin(), worker.leases.end());
    for (const TaskId task : leases)
        copy_at(id, task) != nullptr ? drop_copy(task, false, actions)
                                     : lose(task, reason, lost, now, actions);
    const std::string host = worker.host;
    workers_.remove(id);
    if (workers_.of_host(host) == nullptr) host_watch_.forget_unless_bad(host);
    pool_.erase(id);
    if (reserved_ && reserved_->worker == id) reserved_.reset();
    if (options_.rejoin_limit > Duration{0}) {
        settled_at_ = std::max(settled_at_, now.instant + options_.rejoin_limit);
        if (took_tickets) pool_settled_at_ = std::max(pool_settled_at_, settled_at_);
    }
    check_fits_ = true;
    tell_what_waits_later(now, false);
    ++pool_version_;
    ++counters_.workers_removed;
    if (lost) ++lost_;
    if (!batch_ || batch_->members.erase(id) == 0) return;
    if (batch_->dry.erase(id) == 0 && !lost) batch_->left = true;
    if (lost) batch_->lost.push_back({id, reason, whole});
    reconcile(now, actions);
}

void Reactor::drop_silent_workers(Now now, Actions& actions) {
    while (const Worker* quiet = workers_.quietest()) {
        if (attentive_ - quiet->last_heard < options_.silence) return;
        const WorkerId id = quiet->id;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.silence).count();
        const std::string why = "silent for " + std::to_string(seconds) + " s";
        actions.push_back(Dismiss{id, why, true});
        remove_worker(*workers_.find(id), why, true, now, actions);
    }
}

}  // namespace wq::core
