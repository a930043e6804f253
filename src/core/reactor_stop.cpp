// Ends: of the input, by signal, by time, by failure, by a storage that cannot be written.
#include "core/reactor.h"

namespace wq::core {

void Reactor::on_event(const StopRequested& event, Now now, Actions& actions) {
    if (stop_) {  // a second one: at once
        stop_->kill_at = std::min(stop_->kill_at, now.instant);
        kill_what_runs(now, actions);
        return;
    }
    stop_ = Stop{event.reason, now.instant + event.grace, false};
    for (const auto& [id, worker] : workers_.all())
        if (!worker.leases.empty() && !worker.away()) actions.push_back(Recall{id, worker.leases.size()});
    revoke(actions);
    if (event.grace <= Duration{0}) kill_what_runs(now, actions);
}

void Reactor::kill_what_runs(Now, Actions& actions) {
    if (stop_->killed) return;
    stop_->killed = true;
    for (const auto& [id, worker] : workers_.all())
        if (!worker.away()) actions.push_back(KillAll{id});
}

void Reactor::on_event(const StorageTrouble& event, Now, Actions& actions) {
    storage_trouble_ = event.now;
    if (storage_trouble_) revoke(actions);
}

void Reactor::on_event(const Tuned& event, Now, Actions& actions) {
    if (event.hold_until_workers) hold_until_workers_ = *event.hold_until_workers;
    if (event.copies_from) watch_for_copies(*event.copies_from);
    if (event.allocation) options_.allocation = *event.allocation;
    if (event.submit_multiplier) options_.submit_multiplier = *event.submit_multiplier;
    if (event.ramps_down) options_.ramps_down = *event.ramps_down;
    if (event.monitoring && *event.monitoring != options_.monitoring) {
        options_.monitoring = *event.monitoring;
        revoke(actions);  // how its tasks are watched was sealed with them
    }
    if (event.allocation || event.submit_multiplier)
        for (const auto& [id, worker] : workers_.all()) workers_.changed(*workers_.find(id));
    if (!event.sets_hosts_aside) return;
    options_.sets_hosts_aside = *event.sets_hosts_aside;
    if (!options_.sets_hosts_aside) release_those_set_aside(actions);
}

void Reactor::on_event(const Tick&, Now now, Actions& actions) {
    drop_silent_workers(now, actions);
    drop_those_away_too_long(now, actions);
    unblock_what_is_over(now, actions);
    end_what_is_slow(now, actions);
    copy_stragglers(now, actions);
    if (stop_ && now.instant >= stop_->kill_at) kill_what_runs(now, actions);
    recall_for_idle_workers(now, actions);
}

void Reactor::finish_if_over(Now now, Actions& actions) {
    if (finished_) return;
    const std::uint64_t out = ledger_.count(TaskState::leased) + ledger_.count(TaskState::sealed);
    const std::uint64_t waiting = ledger_.count(TaskState::ready) + ledger_.count(TaskState::blocked);
    const bool all_ended = input_ended_ && out == 0 && waiting == 0;
    const bool stopped =
        stop_ && (out == 0 || (stop_->killed && now.instant >= stop_->kill_at + options_.kill_limit));
    // Its tasks are not skipped: with workers they could run, and a resume will find them.
    const bool deserted = workers_.empty() && waiting > 0 && pool_is_judged(now);
    if (!all_ended && !stopped && !deserted) return;
    finished_ = true;
    Finished finished{exit_code(), std::nullopt};
    if (!all_ended && stop_) {
        finished.stopped = stop_->reason;
        if (stop_->reason != StopReason::halted) finished.code = ExitCode::interrupted;
    } else if (deserted) {
        actions.push_back(Warning{joined_ == 0 ? "no worker has joined" : "no worker is left"});
        finished.code = ExitCode::unreachable;
    }
    actions.push_back(finished);
}

ExitCode Reactor::exit_code() const {
    const bool failures = ledger_.count(TaskState::failed) + ledger_.count(TaskState::skipped) > 0;
    return failures ? ExitCode::tasks_failed : ExitCode::ok;
}

}  // namespace wq::core
