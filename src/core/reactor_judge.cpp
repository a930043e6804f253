// Hosts that fail what succeeds elsewhere are set aside, but never the last one that could run what waits.
#include <algorithm>

#include "base/units.h"
#include "core/reactor.h"
#include "core/wall_time.h"

namespace wq::core {

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

// Of one category, and for workers that have the same besides cores, memory and disk.
AlikeId Reactor::alike(ShapeId shape) {
    std::optional<AlikeId>& known = state_of(shape).alike;
    if (known) return *known;
    const Shape& what = ledger_.shape(shape);
    const auto next = AlikeId(static_cast<std::uint32_t>(alike_.size()));
    const auto found =
        alike_.try_emplace({what.category, what.needs.gpus > 0, what.features, what.workers}, next);
    known = found.first->second;
    return *known;
}

// By tickets nobody tells of the beginning.
Instant Reactor::begun(WorkerId worker, TaskId task, const Outcome& outcome, Now now) const {
    if (const Copy* copy = copy_at(worker, task)) return copy->since;
    const Attempted& attempted = *ledger_.find_attempted(task);
    return attempted.by_ticket ? now.instant - wall_time(outcome) : attempted.since;
}

void Reactor::judge_host(const Worker& worker, TaskId task, const Outcome& outcome, Now now,
                         Actions& actions) {
    if (!options_.sets_hosts_aside || stop_) return;
    const ShapeId shape = ledger_.shape_of(task);
    const Tells tells = what_it_tells(outcome);
    const HostWatch::Ended ended{worker.host, alike(shape), wall_time(outcome),
                                 begun(worker.id, task, outcome, now)};
    if (tells == Tells::good) host_watch_.succeeded(ended, 1);
    if (tells != Tells::bad || worker.blocked) return;
    const auto elsewhere = [&](Instant from, Instant to) {
        return running_elsewhere(ended.host, ended.alike, from, to);
    };
    const auto verdict = host_watch_.failed(ended, now.instant, elsewhere);
    if (!verdict) return;
    if (!others_could_do(shape, ended.host)) return host_watch_.spared(ended.host, ended.alike);
    host_watch_.set_aside(ended.host);
    std::string why = "its last " + std::to_string(verdict->failures) + " tasks failed, after " +
                      format_duration(verdict->each) + " each (the last one: " + describe(outcome) + ");";
    why += " elsewhere " + std::to_string(verdict->failed_elsewhere) + " of " +
           std::to_string(verdict->elsewhere) + " did";
    actions.push_back(
        HostSetAside{ended.host, std::move(why), now.wall + verdict->time / std::chrono::microseconds(1)});
    block(ended.host, {now.instant + verdict->time, true}, actions);
}

// What failed there, and all that waits.
bool Reactor::others_could_do(ShapeId failing, const std::string& host) const {
    if (!some_host_holds(failing, &host)) return false;
    const std::vector<ShapeId> waiting = what_waits_for(host);
    return std::all_of(waiting.begin(), waiting.end(),
                       [&](ShapeId shape) { return some_host_holds(shape, &host); });
}

// Or fewer. Looks at all workers: it is asked where it could matter, and when a host has failed a quarter
// more tasks than the last time.
std::uint64_t Reactor::running_elsewhere(const std::string& host, AlikeId kind, Instant from, Instant to) {
    std::uint64_t count = tickets_elsewhere(host, kind, from, to);
    for (const auto& [id, worker] : workers_.all()) {
        if (count >= HostWatch::most_running) break;
        if (worker.host == host || worker.away()) continue;
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

// As long as there are tickets, every rank runs as many as it has room for; since when is known of the first
// ones only.
std::uint64_t Reactor::tickets_elsewhere(const std::string& host, AlikeId kind, Instant from, Instant to) {
    if (!batch_ || batch_->sealed_at < from || batch_->sealed_at > to || alike(batch_->shape) != kind)
        return 0;
    Count cores;
    for (const WorkerId id : batch_->members) {
        const Worker& member = *workers_.find(id);
        if (member.host != host && !batch_->dry.contains(id))
            cores += std::max<Count>(member.free().cores, 0);
    }
    const Count wanted = batch_->ask.needs.cores;
    const std::int64_t each = (wanted > 0 ? wanted : Count(1)).thousandths();
    return static_cast<std::uint64_t>(cores.thousandths() / each);
}

}  // namespace wq::core
