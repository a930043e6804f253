// Hosts that get no tasks: those that the user blocks, and those that fail what succeeds elsewhere. What runs
// there goes on; workers of theirs may come, and wait.
#include <algorithm>

#include "base/units.h"
#include "core/reactor.h"
#include "core/wall_time.h"

namespace wq::core {

void Reactor::on_event(const HostBlocked& event, Now now, Actions& actions) {
    std::optional<Instant> until;
    if (event.time) until = now.instant + *event.time;
    block(event.host, {until, false}, actions);
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
    if (workers_.hosts_available() == 0) release_those_set_aside(actions);
}

void Reactor::release_those_set_aside(Actions& actions) {
    if (!blocks_.any_by_itself()) return;
    std::vector<std::string> aside;
    for (const auto& [host, block] : blocks_.all())
        if (block.by_itself && workers_.of_host(host) != nullptr) aside.push_back(host);
    for (const std::string& host : aside) {
        actions.push_back(HostReleased{host});
        unblock(host);
    }
}

// ---- hosts that fail what succeeds elsewhere ----

namespace {

enum class Tells { good, bad, nothing };

// Of its host. Times, memory and what the manager itself did or did not do are no fault of that.
Tells what_it_tells(const Outcome& outcome) {
    switch (outcome.ending) {
        case Ending::exited:
            return outcome.exit_code == 0 ? Tells::good : Tells::bad;
        case Ending::signalled:
        case Ending::not_started:
        case Ending::raised:
        case Ending::output_missing:
        case Ending::disk_full:
        case Ending::worker_lost:  // only its launcher was
            return Tells::bad;
        default:
            return Tells::nothing;
    }
}

}  // namespace

void Reactor::judge_host(const Worker& worker, TaskId task, const Outcome& outcome, Now now,
                         Actions& actions) {
    if (!options_.sets_hosts_aside || stop_) return;
    const ShapeId shape = ledger_.shape_of(task);
    const CategoryId category = ledger_.shape(shape).category;
    const Duration wall = wall_time(outcome);
    const Tells tells = what_it_tells(outcome);
    if (tells == Tells::good) host_watch_.succeeded(worker.host, category, 1, wall);
    if (tells != Tells::bad || worker.blocked) return;
    const auto elsewhere = [&] { return running_elsewhere(worker.host, category); };
    const auto verdict = host_watch_.failed(worker.host, category, wall, now.instant, elsewhere);
    if (!verdict || !another_host_holds(shape, worker.host)) return;
    host_watch_.set_aside(worker.host);
    std::string why = "its last " + std::to_string(verdict->failures) + " tasks failed, after " +
                      format_duration(verdict->each) + " each (the last one: " + describe(outcome) + ");";
    why += " elsewhere " + std::to_string(verdict->failed_elsewhere) + " of " +
           std::to_string(verdict->elsewhere) + " did";
    const std::string host = worker.host;
    actions.push_back(
        HostSetAside{host, std::move(why), now.wall + verdict->time / std::chrono::microseconds(1)});
    block(host, {now.instant + verdict->time, true}, actions);
}

// Or fewer.
std::uint64_t Reactor::running_elsewhere(const std::string& host, CategoryId category) const {
    std::uint64_t here = 0;
    for (const WorkerId id : *workers_.of_host(host)) here += workers_.find(id)->leases.size();
    const std::uint64_t leased = ledger_.count(category, TaskState::leased);
    std::uint64_t count = leased - std::min(leased, here);
    if (!batch_ || ledger_.shape(batch_->shape).category != category) return count;
    // As long as there are tickets, every rank runs as many as it has room for.
    std::uint64_t tickets = 0;
    for (const WorkerId id : batch_->members) {
        const Worker& member = *workers_.find(id);
        if (member.host != host && !batch_->dry.contains(id))
            tickets += static_cast<std::uint64_t>(std::max<std::int64_t>(member.free().cores, 0));
    }
    const std::int64_t each = std::max<std::int64_t>(ledger_.shape(batch_->shape).needs.cores, 1);
    count += tickets / static_cast<std::uint64_t>(each);
    return count;
}

// So that what waits can go on.
bool Reactor::another_host_holds(ShapeId shape, const std::string& host) const {
    const Shape& what = ledger_.shape(shape);
    const auto holds = [&](const Worker* worker) {
        return worker != nullptr && worker->available() && worker->host != host &&
               ever_holds(worker->whole, worker->features, what);
    };
    for (const WorkerId id : what.workers)
        if (holds(workers_.find(id))) return true;
    if (!what.workers.empty()) return false;
    for (const auto& [kind, places] : workers_.kinds()) {
        if (!ever_holds(kind.at_most.whole, kind.at_most.features, what)) continue;
        if (std::any_of(places.begin(), places.end(),
                        [&](const Place& place) { return holds(workers_.find(place.id)); }))
            return true;
    }
    return false;
}

std::optional<std::string> Reactor::audit_hosts() const {
    if (auto wrong = blocks_.audit()) return wrong;
    for (const auto& [id, worker] : workers_.all())
        if (worker.blocked != (blocks_.find(worker.host) != nullptr))
            return "worker " + std::to_string(id.value()) + " of " + worker.host +
                   (worker.blocked ? " is blocked" : " is not blocked");
    if (!workers_.empty() && workers_.hosts_available() == 0 && blocks_.any_by_itself())
        for (const auto& [host, block] : blocks_.all())
            if (block.by_itself && workers_.of_host(host) != nullptr) return "the last host is set aside";
    return std::nullopt;
}

}  // namespace wq::core
