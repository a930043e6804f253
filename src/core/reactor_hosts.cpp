// Hosts that get no tasks. What runs there goes on; workers of theirs may come, and wait.
#include "core/reactor.h"

namespace wq::core {

void Reactor::on_event(const HostBlocked& event, Now now, Actions& actions) {
    std::optional<Instant> until;
    if (event.time) until = now.instant + *event.time;
    block(event.host, {until, false}, actions);
}

void Reactor::on_event(const HostUnblocked& event, Now, Actions&) {
    if (event.host) return unblock(*event.host);
    while (!blocks_.empty()) unblock(std::string(blocks_.all().begin()->first));
}

// As they are now: what is done with them changes the index.
std::vector<WorkerId> Reactor::workers_of(const std::string& host) const {
    const std::set<WorkerId>* const there = workers_.of_host(host);
    return there == nullptr ? std::vector<WorkerId>{} : std::vector<WorkerId>(there->begin(), there->end());
}

void Reactor::block(const std::string& host, const HostBlock& block, Actions& actions) {
    const bool before = blocks_.find(host) != nullptr;
    blocks_.put(host, block);
    if (before) return;
    for (const WorkerId id : workers_of(host)) {
        Worker& worker = *workers_.find(id);
        workers_.block(worker, true);
        ++counters_.workers_blocked;
        gets_no_more(worker);
        if (may_claim(worker)) revoke(actions);
        if (!worker.leases.empty() && !worker.away()) actions.push_back(Recall{id, worker.leases.size()});
    }
}

void Reactor::unblock(const std::string& host) {
    if (!blocks_.remove(host)) return;
    for (const WorkerId id : workers_of(host)) {
        Worker& worker = *workers_.find(id);
        workers_.block(worker, false);
        if (worker.available()) gets_tasks(worker);
    }
}

void Reactor::unblock_what_is_over(Now now, Actions&) {
    for (const std::string& host : blocks_.over(now.instant)) unblock(host);
}

std::optional<std::string> Reactor::audit_hosts() const {
    if (auto wrong = blocks_.audit()) return wrong;
    for (const auto& [id, worker] : workers_.all())
        if (worker.blocked != (blocks_.find(worker.host) != nullptr))
            return "worker " + std::to_string(id.value()) + " of " + worker.host +
                   (worker.blocked ? " is blocked" : " is not blocked");
    return std::nullopt;
}

}  // namespace wq::core
