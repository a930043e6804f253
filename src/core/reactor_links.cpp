// Workers whose link is cut and mended, and those that are about to leave.
#include <set>

#include "core/reactor.h"

namespace wq::core {

void Reactor::on_event(const WorkerAway& event, Now now, Actions& actions) {
    Worker* worker = workers_.find(event.worker);
    if (worker == nullptr || worker->away()) return;
    if (options_.away_limit <= Duration{0}) return remove_worker(*worker, event.why, true, now, actions);
    workers_.go_away(*worker, attentive_ + options_.away_limit, event.why);
    gets_no_more(*worker);
}

void Reactor::on_event(const WorkerDraining& event, Now, Actions& actions) {
    Worker* worker = workers_.find(event.worker);
    if (worker == nullptr || worker->draining == event.on) return;
    workers_.drain(*worker, event.on);
    if (event.on) {
        gets_no_more(*worker);
        if (event.made_to && may_claim(*worker)) revoke(actions);
        return;
    }
    if (worker->available()) gets_tasks(*worker);
}

void Reactor::gets_tasks(const Worker& worker) {
    ++pool_version_;
    if (worker.takes_tickets) pool_.insert(worker.id);
}

// Of a batch that is open it may have claimed some: it stays a member of that.
void Reactor::gets_no_more(const Worker& worker) {
    pool_.erase(worker.id);
    ++pool_version_;
    if (reserved_ && reserved_->worker == worker.id) reserved_.reset();
}

bool Reactor::may_claim(const Worker& worker) const {
    return batch_ && batch_->members.contains(worker.id) && !batch_->dry.contains(worker.id);
}

// Between the two ends of a link that was cut anything may be lost, so what it names decides.
void Reactor::on_event(const WorkerBack& event, Now now, Actions& actions) {
    Worker* worker = workers_.find(event.worker);
    if (worker == nullptr) {
        ++stale_;
        return;
    }
    workers_.come_back(*worker, attentive_);
    if (worker->available()) gets_tasks(*worker);
    std::set<TaskId> kept;
    IntervalSet tickets;
    for (const auto& [task, attempt] : event.holding) {
        if (!holds(worker->id, task, attempt))
            tell_to_kill(worker->id, {task.value(), task.value() + 1}, attempt, actions);
        else if (ledger_.state(task) == TaskState::sealed)
            tickets.insert(task.value());
        else if (kept.insert(task).second)
            tell_again_to_end(task, now, actions);
    }
    const std::vector<TaskId> leases(worker->leases.begin(), worker->leases.end());
    for (const TaskId task : leases) {
        if (kept.contains(task)) continue;
        copy_at(worker->id, task) != nullptr ? drop_copy(task, false, actions) : give_back(task, actions);
    }
    if (batch_ && batch_->members.contains(worker->id)) account(*worker, tickets, now, actions);
    catch_up_with_stop(*worker, actions);
}

// What the others were told when the run was stopped.
void Reactor::catch_up_with_stop(const Worker& worker, Actions& actions) {
    if (!stop_) return;
    if (stop_->killed)
        actions.push_back(KillAll{worker.id});
    else if (!worker.leases.empty())
        actions.push_back(Recall{worker.id, worker.leases.size()});
}

void Reactor::drop_those_away_too_long(Now now, Actions& actions) {
    while (const Worker* first = workers_.first_given_up()) {
        if (attentive_ < *first->away_until) return;
        const WorkerId id = first->id;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.away_limit).count();
        const std::string why = first->away_why + "; not back after " + std::to_string(seconds) + " s";
        actions.push_back(Dismiss{id, why, true});
        remove_worker(*workers_.find(id), why, true, now, actions);
    }
}

}  // namespace wq::core
