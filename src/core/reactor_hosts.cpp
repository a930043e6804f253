// Hosts that get no tasks: those that the user blocks, and those that fail what succeeds elsewhere, as long
// as others could run what waits. What runs there goes on; workers of theirs may come, and wait.
#include <algorithm>

#include "core/reactor.h"

namespace wq::core {

void Reactor::on_event(const HostBlocked& event, Now now, Actions& actions) {
    std::optional<Instant> until;
    if (event.time) until = now.instant + *event.time;
    block(event.host, {until, false}, actions);
    tell_what_waits_later(now, false);
}

void Reactor::on_event(const HostUnblocked& event, Now, Actions&) {
    if (event.host) {
        host_watch_.forget(*event.host);
        return unblock(*event.host);
    }
    host_watch_.forget_all();
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
        told_blocked_ = false;
        if (worker.available()) gets_tasks(worker);
    }
}

void Reactor::unblock_what_is_over(Now now, Actions& actions) {
    for (const std::string& host : blocks_.over(now.instant)) {
        if (blocks_.find(host)->by_itself) actions.push_back(HostReleased{host});
        unblock(host);
    }
}

// The others have left, or are blocked: a bad host is better than none.
void Reactor::release_the_last_hosts(Actions& actions) {
    if (!blocks_.any_by_itself() || last_hosts_at_ == pool_version_) return;
    if (workers_.hosts_available() == 0) release_those_set_aside(actions);
    for (const std::string& host : set_aside_here())
        for (const ShapeId shape : what_waits_for(host)) release_whoever_holds(shape, actions);
    last_hosts_at_ = pool_version_;
}

// Where none of those that get tasks could ever run what waits.
void Reactor::release_whoever_holds(ShapeId shape, Actions& actions) {
    if (!blocks_.any_by_itself() || ledger_.ready(shape).empty() || some_host_holds(shape, nullptr)) return;
    for (const std::string& host : set_aside_here())
        if (host_holds(host, shape)) release(host, actions);
}

void Reactor::release_those_set_aside(Actions& actions) {
    for (const std::string& host : set_aside_here()) release(host, actions);
}

void Reactor::release(const std::string& host, Actions& actions) {
    if (blocks_.find(host) == nullptr) return;
    actions.push_back(HostReleased{host});
    unblock(host);
}

// By the manager itself, and with workers.
std::vector<std::string> Reactor::set_aside_here() const {
    std::vector<std::string> aside;
    if (!blocks_.any_by_itself()) return aside;
    for (const auto& [host, block] : blocks_.all())
        if (block.by_itself && workers_.of_host(host) != nullptr) aside.push_back(host);
    return aside;
}

// ---- which hosts could run what, were they idle ----

// Whether it gets tasks or not.
bool Reactor::host_holds(const std::string& host, ShapeId shape) const {
    const std::vector<WorkerId> there = workers_of(host);
    return std::any_of(there.begin(), there.end(),
                       [&](WorkerId id) { return could_ever_run(*workers_.find(id), shape); });
}

// One that gets tasks, other than `but`.
bool Reactor::some_host_holds(ShapeId shape, const std::string* but) const {
    const Shape& what = ledger_.shape(shape);
    const auto counts = [&](const Worker* worker) {
        return worker != nullptr && worker->available() && (but == nullptr || worker->host != *but) &&
               could_ever_run(*worker, shape);
    };
    for (const WorkerId id : what.workers)
        if (counts(workers_.find(id))) return true;
    if (!what.workers.empty()) return false;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        if (!ever_holds(kind.at_most.whole, kind.at_most.features, shape)) continue;
        const Places& places = of_kind.by(Scarce::cores);
        if (std::any_of(places.begin(), places.end(),
                        [&](const Place& place) { return counts(workers_.find(place.id)); }))
            return true;
    }
    return false;
}

// Those that alone could run it, where no other one gets tasks; nothing: there is another one, or none.
std::string Reactor::blocked_hosts_for(ShapeId shape) const {
    constexpr std::size_t most_named = 8;
    if (blocks_.empty() || some_host_holds(shape, nullptr)) return "";
    std::vector<std::string> hosts;
    for (const auto& [host, block] : blocks_.all())
        if (host_holds(host, shape)) hosts.push_back(host);
    std::string named;
    for (std::size_t i = 0; i < std::min(hosts.size(), most_named); ++i)
        named += (named.empty() ? "" : ", ") + hosts[i];
    if (hosts.size() <= most_named) return named;
    return named + " and " + std::to_string(hosts.size() - most_named) + " more";
}

// Shapes with ready tasks that it could run.
std::vector<ShapeId> Reactor::what_waits_for(const std::string& host) const {
    std::set<ShapeId> shapes(ledger_.suspect_shapes());
    for (const ReadyHead& head : ledger_.ready_shapes()) shapes.insert(head.shape);
    for (const WorkerId id : workers_of(host))
        for (const ReadyHead& head : ledger_.ready_shapes_for(id)) shapes.insert(head.shape);
    std::vector<ShapeId> held;
    for (const ShapeId shape : shapes)
        if (host_holds(host, shape)) held.push_back(shape);
    return held;
}

std::optional<std::string> Reactor::audit_hosts() const {
    if (auto wrong = blocks_.audit()) return wrong;
    for (const auto& [id, worker] : workers_.all())
        if (worker.blocked != (blocks_.find(worker.host) != nullptr))
            return "worker " + std::to_string(id.value()) + " of " + worker.host +
                   (worker.blocked ? " is blocked" : " is not blocked");
    const std::vector<std::string> aside = set_aside_here();
    if (!aside.empty() && workers_.hosts_available() == 0) return "the last host is set aside";
    const bool looked = !stop_ && !storage_trouble_ && hold_until_workers_ == 0 && ledger_.expired().empty();
    if (!looked) return std::nullopt;
    for (const std::string& host : aside)
        for (const ShapeId shape : what_waits_for(host))
            if (!some_host_holds(shape, nullptr)) return host + " is set aside, and tasks wait for it alone";
    return std::nullopt;
}

}  // namespace wq::core
