#include "manager/action_performer.h"

#include <variant>

#include "base/time.h"

namespace wq::manager {

void ActionPerformer::perform(std::vector<engine::model::Action>& actions, engine::model::Now now) {
    // Leases come in a row, so the clock is read only before and after them.
    std::optional<Instant> sending_since;
    for (engine::model::Action& action : actions) {
        const bool lease = std::holds_alternative<engine::model::Lease>(action);
        if (lease && !sending_since) sending_since = clock_();
        if (!lease && sending_since)
            to_.times.sent(clock_() - *std::exchange(sending_since, {}), ManagerTimes::Carried::work);
        std::visit([&](auto& known) { act_on(known, now); }, action);
    }
    if (sending_since) to_.times.sent(clock_() - *sending_since, ManagerTimes::Carried::work);
}

// ---- tasks ----

void ActionPerformer::act_on(engine::model::Lease& action, engine::model::Now now) {
    to_.leases.send(action, now);
}

void ActionPerformer::act_on(const engine::model::Kill& action, engine::model::Now) {
    to_.links.send_message(
        action.worker, net::messages::Kill{TaskId(action.tasks.first), action.attempt, action.tasks.size()});
}

void ActionPerformer::act_on(const engine::model::KillAll& action, engine::model::Now) {
    to_.links.send_message(action.worker, net::messages::KillAll{});
}

void ActionPerformer::act_on(const engine::model::Recall& action, engine::model::Now) {
    to_.links.send_message(action.worker, net::messages::Recall{action.most});
}

void ActionPerformer::act_on(engine::model::AttemptEnded& action, engine::model::Now now) {
    to_.leases.forget(action.task, action.attempt);
    to_.times.ended(1, action.outcome.succeeded() ? 1 : 0, action.outcome.wall_us, action.given);
    to_.records.ended(action, to_.links.of(action.worker),
                      to_.messages.output_of(action.task, action.attempt), now);
    to_.storage.look_if_full(now);
}

void ActionPerformer::act_on(const engine::model::LeaseRequeued& action, engine::model::Now now) {
    to_.leases.forget(action.task, action.attempt);
    to_.records.requeued(action, now);
}

void ActionPerformer::act_on(engine::model::RangeEnded& action, engine::model::Now now) {
    to_.times.ended(action.tasks.count(), action.tasks.count(), action.wall_us, action.given);
    to_.records.ended(action, now);
}

void ActionPerformer::act_on(const engine::model::Cancelled& action, engine::model::Now now) {
    action.tasks.for_each([this](Interval part) { to_.leases.forget(part); });
    to_.records.cancelled(action, now);
}

void ActionPerformer::act_on(engine::model::Skipped& action, engine::model::Now now) {
    to_.records.skipped(action, now);
}

// ---- tickets ----

// A leaving worker would claim tickets that are not expected of it.
void ActionPerformer::act_on(const engine::model::Seal& action, engine::model::Now) {
    const net::messages::SealedBatch sealed = to_.tickets.open(action);
    for (auto& [key, link] : to_.links.all()) {
        if (!link.takes_tickets || !link.record) continue;
        const engine::model::Worker* const worker = router_.reactor().workers().find(link.record->worker);
        if (worker != nullptr && worker->available()) to_.links.send_message(link, sealed);
    }
}

void ActionPerformer::act_on(const engine::model::Revoke& action, engine::model::Now) {
    to_.tickets.revoke(action.batch);
    for (auto& [key, link] : to_.links.all())
        if (link.takes_tickets) to_.links.send_message(link, net::messages::RevokedBatch{action.batch});
}

void ActionPerformer::act_on(const engine::model::BatchOver& action, engine::model::Now) {
    to_.tickets.close(action.batch);
}

// ---- workers and hosts ----

void ActionPerformer::act_on(const engine::model::Dismiss& action, engine::model::Now now) {
    const auto departure =
        action.lost ? records::journal::Departure::failure : records::journal::Departure::asked;
    if (!to_.sessions.dismiss(action.worker, {action.why, true}, action.why, departure, now))
        to_.sessions.end(action.worker, action.why, departure, now);
}

void ActionPerformer::act_on(const engine::model::HostExcluded& action, engine::model::Now) {
    router_.print_line("host " + action.host + " is excluded until " + local_time(action.until, "%H:%M:%S") +
                       ": " + action.why + (how_to_keep_hosts_.empty() ? "" : "; " + how_to_keep_hosts_));
}

void ActionPerformer::act_on(const engine::model::HostReleased& action, engine::model::Now) {
    router_.print_line("host " + action.host + " is readmitted");
}

// ---- the run ----

void ActionPerformer::act_on(const engine::model::CategoryChanged& action, engine::model::Now now) {
    to_.records.changed(action, now);
}

void ActionPerformer::act_on(const engine::model::Warning& action, engine::model::Now) {
    router_.print_line(action.text);
}

void ActionPerformer::act_on(const engine::model::Finished& action, engine::model::Now) {
    finished_ = action;
    to_.records.finished();
}

}  // namespace wq::manager
