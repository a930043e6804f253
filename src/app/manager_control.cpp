// What a program that is a manager asks for: cancels, and workers that are to leave.
#include <algorithm>

#include "app/manager.h"

namespace wq::app {

void Manager::cancel(Interval tasks, core::Now now) {
    react(core::CancelRequested{tasks}, now);
}

void Manager::hold_until_workers(std::uint32_t count, core::Now now) {
    react(core::Tuned{count}, now);
}

void Manager::block(const std::string& host, std::optional<Duration> time, core::Now now) {
    react(core::HostBlocked{host, time}, now);
}

void Manager::unblock(const std::string* host, core::Now now) {
    react(core::HostUnblocked{host == nullptr ? std::nullopt : std::optional(*host)}, now);
}

bool Manager::set_fast_abort(const std::string& name, double multiplier, core::Now now) {
    const CategoryId id = category(name);
    react(core::FastAbortSet{id, multiplier}, now);
    return reactor_.fast_abort(id);
}

void Manager::copy_stragglers(double from, core::Now now) {
    react(core::Tuned{std::nullopt, std::nullopt, from}, now);
}

void Manager::allocate_by(const core::AllocationRules& rules, core::Now now) {
    core::Tuned tuned;
    tuned.allocation = rules;
    react(tuned, now);
}

void Manager::hold_on_workers(double times, core::Now now) {
    core::Tuned tuned;
    tuned.submit_multiplier = times;
    react(tuned, now);
}

void Manager::set_category(const std::string& name, core::CategorySet what, core::Now now) {
    what.category = category(name);
    react(what, now);
}

void Manager::monitor(const core::Monitoring& monitoring, core::Now now) {
    core::Tuned tuned;
    tuned.monitoring = monitoring;
    react(tuned, now);
}

void Manager::ramp_down(bool on, core::Now now) {
    core::Tuned tuned;
    tuned.ramps_down = on;
    react(tuned, now);
}

void Manager::set_hosts_aside(bool on, core::Now now) {
    react(core::Tuned{std::nullopt, on}, now);
}

core::ManagerStats Manager::brief_stats() const {
    core::ManagerStats stats;
    const core::Ledger& ledger = reactor_.ledger();
    const core::WorkerTable& workers = reactor_.workers();
    stats.workers_connected = static_cast<std::int64_t>(workers.size() - workers.away());
    stats.tasks_waiting = static_cast<std::int64_t>(ledger.count(core::TaskState::blocked) +
                                                    ledger.count(core::TaskState::ready));
    stats.tasks_submitted = static_cast<std::int64_t>(ledger.size());
    return stats;
}

std::size_t Manager::drain(const std::string& host, bool on, core::Now now) {
    std::vector<WorkerId> there;  // those too whose link is cut: they may be back
    for (const auto& [id, worker] : reactor_.workers().all())
        if (worker.host == host) there.push_back(id);
    for (const WorkerId worker : there) {
        if (on)
            let_go(worker, now);
        else if (let_go_.erase(worker) > 0 && !leaving_.contains(worker))
            react(core::WorkerDraining{worker, false}, now);
    }
    if (on) dismiss_the_empty(now);
    return there.size();
}

std::size_t Manager::shut_down(std::size_t workers, core::Now now) {
    std::vector<std::pair<std::size_t, WorkerId>> by_load;
    for (const auto& [id, worker] : reactor_.workers().all())
        if (!let_go_.contains(id))
            by_load.emplace_back(worker.leases.empty() && reactor_.may_run(worker) ? 1 : worker.leases.size(),
                                 id);
    std::sort(by_load.begin(), by_load.end());
    if (workers > 0 && workers < by_load.size()) by_load.resize(workers);
    for (const auto& [load, worker] : by_load) let_go(worker, now);
    dismiss_the_empty(now);
    return by_load.size();
}

void Manager::let_go(WorkerId worker, core::Now now) {
    if (!let_go_.insert(worker).second) return;
    react(core::WorkerDraining{worker, true, true}, now);
}

void Manager::dismiss_the_empty(core::Now now) {
    for (const WorkerId id : std::vector<WorkerId>(let_go_.begin(), let_go_.end())) {
        const core::Worker* worker = reactor_.workers().find(id);
        if (worker != nullptr && (worker->away() || reactor_.may_run(*worker))) continue;
        let_go_.erase(id);
        Link* link = link_of(id);
        if (link == nullptr) continue;
        tell(*link,
             wire::Dismiss{"the manager lets it go", lost_a_worker_ || link->session == nullptr, true});
        link->outbox->flush();
        link->transport->close(link->peer);
        ++own_stats_.workers_released;
        drop({link->transport, link->peer}, told_to_leave, stats::Departure::asked, now);
    }
}

}  // namespace wq::app
