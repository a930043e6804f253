#include "engine/policies/host_exclusion.h"

#include <algorithm>

#include "base/units.h"
#include "engine/model/outcome.h"

namespace wq::engine::policies {

namespace {

enum class Evidence { good, bad, nothing };

// What an ending says about its host. Exceeded time or memory and the manager's own orders are not the host's
// fault.
Evidence evidence_of(const Outcome& outcome) {
    switch (outcome.ending) {
        case Ending::exited:
            return outcome.exit_code == 0 ? Evidence::good : Evidence::bad;
        case Ending::signalled:
        case Ending::not_started:
        case Ending::raised:
        case Ending::output_missing:
        case Ending::disk_full:
        case Ending::worker_lost:  // only its launcher was lost
            return Evidence::bad;
        default:
            return Evidence::nothing;
    }
}

}  // namespace

// ---- blocks ----

void HostExclusion::on(const HostBlocked& event) {
    std::optional<Instant> until;
    if (event.time) until = now() + *event.time;
    block(event.host, {.until = until});
    hooks_.pool_changed(PoolChange::less_room);
}

void HostExclusion::on(const HostUnblocked& event) {
    if (event.host) {
        failing_hosts_.forget(*event.host);
        return unblock(*event.host);
    }
    failing_hosts_.forget_all();
    while (!blocks_.empty()) unblock(std::string(blocks_.all().begin()->first));
}

void HostExclusion::block(const std::string& host, const HostBlock& block) {
    const bool before = blocks_.find(host) != nullptr;
    blocks_.block_host(host, block);
    if (before) return;
    for (const WorkerId id : pool_.workers_of(host)) {
        Worker& worker = *workers_.find(id);
        workers_.block(worker);
        counters_.count_blocked();
        pool_state_.note_availability(worker);
        if (state_.may_claim(worker)) revoke_batch();
        if (!worker.leases.empty() && !worker.disconnected()) act(Recall{id, worker.leases.size()});
    }
}

void HostExclusion::unblock(const std::string& host) {
    if (!blocks_.remove(host)) return;
    hooks_.host_unblocked();
    for (const WorkerId id : pool_.workers_of(host)) {
        Worker& worker = *workers_.find(id);
        workers_.unblock(worker);
        if (worker.available()) pool_state_.note_availability(worker);
    }
}

void HostExclusion::tick() {
    for (const std::string& host : blocks_.over(now())) {
        if (blocks_.find(host)->by_itself) act(HostReleased{host});
        unblock(host);
    }
}

void HostExclusion::release(const std::string& host) {
    if (blocks_.find(host) == nullptr) return;
    act(HostReleased{host});
    unblock(host);
}

void HostExclusion::release_all() {
    for (const std::string& host : excluded_here()) release(host);
}

void HostExclusion::release_the_last_hosts() {
    if (!blocks_.any_by_itself() || needless_at_ == state_.pool.version()) return;
    if (workers_.hosts_available() == 0) release_all();
    for (const std::string& host : excluded_here())
        for (const ShapeId shape : pool_.what_waits_for(host)) awakened(shape);
    needless_at_ = state_.pool.version();
}

// Releases the excluded hosts that could run the shape, if no other host ever could.
void HostExclusion::awakened(ShapeId shape) {
    if (!blocks_.any_by_itself() || ledger_.ready(shape).empty() || pool_.some_host_holds(shape, nullptr))
        return;
    for (const std::string& host : excluded_here())
        if (pool_.host_holds(host, shape)) release(host);
}

// Hosts that the manager itself excluded and that have workers.
std::vector<std::string> HostExclusion::excluded_here() const {
    std::vector<std::string> hosts;
    if (!blocks_.any_by_itself()) return hosts;
    for (const auto& [host, block] : blocks_.all())
        if (block.by_itself && workers_.of_host(host) != nullptr) hosts.push_back(host);
    return hosts;
}

void HostExclusion::tuned(const Tuned& event) {
    if (!event.excludes_failing_hosts) return;
    options_.excludes_failing_hosts = *event.excludes_failing_hosts;
    if (!*event.excludes_failing_hosts) release_all();
}

void HostExclusion::worker_gone(const RemovedWorker& worker) {
    if (workers_.of_host(worker.host) == nullptr) failing_hosts_.forget_unless_bad(worker.host);
}

// ---- judging ----

// Tasks are alike if they have the same category, and fit workers that differ only in cores, memory and disk.
AlikeId HostExclusion::alike(ShapeId shape) {
    std::optional<AlikeId>& known = alike_of_[shape];
    if (known) return *known;
    const Shape& what = ledger_.shape(shape);
    const auto next = AlikeId(static_cast<std::uint32_t>(alike_.size()));
    const auto found =
        alike_.try_emplace({what.category, what.needs.gpus > 0, what.features, what.workers}, next);
    known = found.first->second;
    return *known;
}

void HostExclusion::reported(const Worker& worker, TaskId task, const Outcome& outcome, Instant began) {
    if (!state_.options.excludes_failing_hosts || state_.run.stopping()) return;
    const Evidence evidence = evidence_of(outcome);
    if (evidence == Evidence::nothing) return;
    const ShapeId shape = ledger_.shape_of(task);
    const FailingHosts::Ended ended{worker.host, alike(shape), wall_time(outcome), began};
    if (evidence == Evidence::good) return failing_hosts_.succeeded(ended, 1);
    if (worker.blocked) return;
    const auto elsewhere = [&](Instant from, Instant to) {
        return running_elsewhere(ended.host, ended.alike, from, to);
    };
    const auto verdict = failing_hosts_.failed(ended, now(), elsewhere);
    if (!verdict) return;
    if (!others_could_do(shape, ended.host)) return failing_hosts_.spared(ended.host, ended.alike);
    exclude(ended.host, *verdict, outcome);
}

void HostExclusion::exclude(const std::string& host, const FailingHosts::Verdict& verdict,
                            const Outcome& last) {
    failing_hosts_.note_exclusion(host);
    std::string why = "its last " + std::to_string(verdict.failures) + " tasks failed, after " +
                      format_duration(verdict.each) + " each (the last one: " + model::describe(last) + ");";
    why += " elsewhere " + std::to_string(verdict.failed_elsewhere) + " of " +
           std::to_string(verdict.elsewhere) + " did";
    act(HostExcluded{host, std::move(why), event_.wall() + verdict.time / std::chrono::microseconds(1)});
    block(host, {.until = now() + verdict.time, .by_itself = true});
}

void HostExclusion::range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                                    Duration each) {
    if (state_.options.excludes_failing_hosts)
        failing_hosts_.succeeded({worker.host, alike(shape), all, now() - each}, tasks);
}

// Whether other hosts could run the shape that failed there and all waiting shapes.
bool HostExclusion::others_could_do(ShapeId failing, const std::string& host) const {
    if (!pool_.some_host_holds(failing, &host)) return false;
    const std::vector<ShapeId> waiting = pool_.what_waits_for(host);
    return std::all_of(waiting.begin(), waiting.end(),
                       [&](ShapeId shape) { return pool_.some_host_holds(shape, &host); });
}

// Counts up to FailingHosts::most_running. It visits all workers, so it is called only if the answer could
// matter, and when a host has failed a quarter more tasks than at the last call.
std::uint64_t HostExclusion::running_elsewhere(const std::string& host, AlikeId kind, Instant from,
                                               Instant to) {
    std::uint64_t count = tickets_elsewhere(host, kind, from, to);
    for (const auto& [id, worker] : workers_.all()) {
        if (count >= FailingHosts::most_running) break;
        if (worker.host == host || worker.disconnected()) continue;
        std::uint64_t there = 0;
        for (const TaskId task : worker.leases) {
            const Attempted& attempted = *ledger_.find_attempted(task);
            if (attempted.worker == id && !attempted.by_ticket && attempted.since >= from &&
                attempted.since <= to && alike(ledger_.shape_of(task)) == kind)
                ++there;
        }
        count += std::min<std::uint64_t>(
            there, worker.leases.size() - std::min<std::uint64_t>(worker.queue(), worker.leases.size()));
    }
    return count;
}

// While there are tickets, every rank runs as many as fit. We know the start time of the first ones only.
std::uint64_t HostExclusion::tickets_elsewhere(const std::string& host, AlikeId kind, Instant from,
                                               Instant to) {
    if (!state_.batch) return 0;
    const Batch& batch = *state_.batch;
    if (batch.sealed_at < from || batch.sealed_at > to || alike(batch.shape) != kind) return 0;
    Count cores;
    for (const WorkerId id : batch.members) {
        const Worker& member = *workers_.find(id);
        if (member.host != host && !batch.dry.contains(id)) cores += std::max<Count>(member.free().cores, 0);
    }
    const Count wanted = batch.ask.needs.cores;
    const std::int64_t each = (wanted > 0 ? wanted : Count(1)).thousandths();
    return static_cast<std::uint64_t>(cores.thousandths() / each);
}

std::optional<std::string> HostExclusion::audit() const {
    if (auto wrong = blocks_.audit()) return wrong;
    for (const auto& [id, worker] : workers_.all())
        if (worker.blocked != (blocks_.find(worker.host) != nullptr))
            return "worker " + std::to_string(id.value()) + " of " + worker.host +
                   (worker.blocked ? " is blocked" : " is not blocked");
    const std::vector<std::string> excluded = excluded_here();
    if (!excluded.empty() && workers_.hosts_available() == 0) return "the last host is excluded";
    const bool looked =
        state_.run.may_dispatch() && state_.run.hold_until_workers() == 0 && ledger_.expired().empty();
    if (!looked) return std::nullopt;
    for (const std::string& host : excluded)
        for (const ShapeId shape : pool_.what_waits_for(host))
            if (!pool_.some_host_holds(shape, nullptr))
                return host + " is excluded, and tasks wait for it alone";
    return std::nullopt;
}

}  // namespace wq::engine::policies
