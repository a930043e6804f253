#include "engine/policies/run_end.h"

#include <algorithm>

namespace wq::engine::policies {

void RunEnd::on(const StopRequested& event) {
    if (stop_) {  // a second request stops at once
        stop_->kill_at = std::min(stop_->kill_at, now());
        return kill_what_runs();
    }
    stop_ = Stop{event.reason, now() + event.grace, false};
    run_.stop();
    for (const auto& [id, worker] : workers_.all())
        if (!worker.leases.empty() && !worker.disconnected()) act(Recall{id, worker.leases.size()});
    revoke_batch();
    if (event.grace <= Duration{0}) kill_what_runs();
}

void RunEnd::kill_what_runs() {
    if (stop_->killed) return;
    stop_->killed = true;
    for (const auto& [id, worker] : workers_.all())
        if (!worker.disconnected()) act(KillAll{id});
}

void RunEnd::on(const StorageTrouble& event) {
    run_.note(event);
    if (event.now) revoke_batch();
}

void RunEnd::failed(TaskId) {
    if (state_.options.halt_on_failure && !stop_) on(StopRequested{StopReason::halted, Duration{0}});
}

// The worker missed the orders that others got when the run was stopped.
void RunEnd::reconnected(const Worker& worker, const IntervalSet&) {
    if (!stop_) return;
    if (stop_->killed)
        act(KillAll{worker.id});
    else if (!worker.leases.empty())
        act(Recall{worker.id, worker.leases.size()});
}

void RunEnd::tick() {
    if (stop_ && now() >= stop_->kill_at) kill_what_runs();
}

std::optional<Instant> RunEnd::next_due() const {
    if (!stop_) return std::nullopt;
    return stop_->killed ? stop_->kill_at + state_.options.kill_limit : stop_->kill_at;
}

void RunEnd::finish_if_over() {
    const std::uint64_t out = ledger_.count(TaskState::leased) + ledger_.count(TaskState::sealed);
    const std::uint64_t waiting = ledger_.count(TaskState::ready) + ledger_.count(TaskState::blocked);
    const bool all_ended = state_.run.input_ended() && out == 0 && waiting == 0;
    if (!stop_ && out == 0 && too_late_for_all()) {
        act(Warning{"no worker has enough time left for the remaining tasks (min-time)"});
        stop_ = Stop{StopReason::out_of_time, now()};
        run_.stop();
    }
    const bool stopped =
        stop_ && (out == 0 || (stop_->killed && now() >= stop_->kill_at + state_.options.kill_limit));
    // The remaining tasks are not skipped: they could run if there were workers, and a resume will find them.
    const bool deserted = workers_.empty() && waiting > 0 && pool_.settled();
    if (!all_ended && !stopped && !deserted) return;
    finished_ = true;
    Finished finished{exit_code(), std::nullopt};
    if (!all_ended && stop_) {
        finished.stopped = stop_->reason;
        if (stop_->reason != StopReason::halted) finished.code = ExitCode::interrupted;
    } else if (deserted) {
        act(Warning{counters_.all().workers_joined == 0 ? "no worker has joined" : "no worker is left"});
        finished.code = ExitCode::unreachable;
    }
    act(finished);
}

// Whether tasks are left and no worker has the time that they need. The next job of the run has more; this
// one would only wait for its end. All shapes and workers are looked at, so at most once a second.
bool RunEnd::too_late_for_all() {
    constexpr Duration pause = std::chrono::seconds(1);
    if (!state_.run.input_ended() || state_.run.storage_trouble() || ledger_.count(TaskState::ready) == 0 ||
        !ledger_.early().empty() || workers_.empty() || !pool_.settled() || now() < time_checked_at_ + pause)
        return false;
    time_checked_at_ = now();
    for (std::uint32_t id = 0; id < ledger_.shapes(); ++id)
        if (!ledger_.ready(ShapeId(id)).empty() && pool_.could_run_in_time(ShapeId(id))) return false;
    return true;
}

ExitCode RunEnd::exit_code() const {
    const bool failures = ledger_.count(TaskState::failed) + ledger_.count(TaskState::skipped) > 0;
    return failures ? ExitCode::tasks_failed : ExitCode::ok;
}

}  // namespace wq::engine::policies
