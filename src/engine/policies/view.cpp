#include "engine/policies/view.h"

#include <algorithm>

#include "base/units.h"

namespace wq::engine::policies {

namespace {

std::string with_verb(std::size_t count, const char* one, const char* more) {
    return format_count(count) + " " + (count == 1 ? one : more);
}

}  // namespace

View::Lanes View::lanes_of_batch() const {
    Lanes lanes;
    auto left = static_cast<std::int64_t>(ledger_.count(TaskState::sealed));
    for (const WorkerId id : state_.batch->members) {
        const Worker& member = *workers_.find(id);
        if (member.disconnected()) continue;
        const Resources each = fit_.share_by_ticket(member.whole);
        const std::int64_t here = std::min(left, how_many_fit(each, member.whole));
        lanes.count += here;
        lanes.cores += here * each.cores;
        left -= here;
    }
    return lanes;
}

ManagerStats View::stats() const {
    ManagerStats stats = counters_.all();
    const auto count = [&](TaskState state) { return static_cast<std::int64_t>(ledger_.count(state)); };
    stats.workers_connected = static_cast<std::int64_t>(state_.connected_workers());
    std::int64_t ticket_busy = 0;
    Lanes by_ticket;
    if (state_.batch) {
        for (const WorkerId id : state_.batch->members)
            ticket_busy += workers_.find(id)->disconnected() ? 0 : 1;
        by_ticket = lanes_of_batch();
    }
    stats.workers_busy = std::max(static_cast<std::int64_t>(workers_.busy()), ticket_busy);
    stats.workers_idle = stats.workers_connected - stats.workers_busy;
    stats.workers_able = able_workers();
    stats.hosts_blocked = static_cast<std::int64_t>(state_.blocks.size());
    stats.tasks_waiting = count(TaskState::blocked) + count(TaskState::ready);
    stats.tasks_on_workers = count(TaskState::leased) + count(TaskState::sealed);
    stats.tasks_submitted = static_cast<std::int64_t>(ledger_.size());
    stats.tasks_done = count(TaskState::done) + count(TaskState::failed);
    stats.tasks_failed = count(TaskState::failed);
    stats.tasks_cancelled = count(TaskState::cancelled);
    stats.total_cores = workers_.total().cores.rounded_down();
    stats.total_memory = workers_.total().memory_mb;
    stats.total_disk = workers_.total().disk_mb;
    // Tickets are not leases, but each running ticket uses its cores.
    stats.committed_cores =
        std::min(workers_.committed().cores + by_ticket.cores, workers_.total().cores).rounded_up();
    stats.committed_memory = std::min(workers_.committed().memory_mb, workers_.total().memory_mb);
    stats.committed_disk = std::min(workers_.committed().disk_mb, workers_.total().disk_mb);
    stats.total_gpus = workers_.total().gpus.rounded_down();
    stats.committed_gpus = std::min(workers_.committed().gpus, workers_.total().gpus).rounded_up();
    // Running tasks are those on workers, less those that wait in the workers' launchers for a core.
    stats.tasks_running = state_.batch
                              ? std::min(stats.tasks_on_workers, by_ticket.count)
                              : stats.tasks_on_workers - static_cast<std::int64_t>(workers_.queued());
    for (const auto& [offer, workers] : workers_.offers()) {
        const bool first = stats.max_cores == 0;
        const auto widen = [first](std::int64_t& low, std::int64_t& high, std::int64_t value) {
            low = first ? value : std::min(low, value);
            high = std::max(high, value);
        };
        widen(stats.min_cores, stats.max_cores, offer.whole.cores.rounded_down());
        widen(stats.min_memory, stats.max_memory, offer.whole.memory_mb);
        widen(stats.min_disk, stats.max_disk, offer.whole.disk_mb);
        widen(stats.min_gpus, stats.max_gpus, offer.whole.gpus.rounded_down());
    }
    return stats;
}

// How many connected workers could hold a task that needs the largest amount of each resource that any
// waiting task needs.
std::int64_t View::able_workers() const {
    constexpr int most_looked_at = 1000;  // shapes, to keep a time-series sample short
    Needs largest;
    int looked = 0;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (++looked > most_looked_at) break;
        const Needs& needs = state_.asked(head.shape).needs;
        largest.cores = std::max(largest.cores, needs.cores);
        largest.memory_mb = std::max(largest.memory_mb, needs.memory_mb);
        largest.disk_mb = std::max(largest.disk_mb, needs.disk_mb);
        largest.gpus = std::max(largest.gpus, needs.gpus);
    }
    return std::count_if(workers_.all().begin(), workers_.all().end(), [&](const auto& each) {
        const Worker& worker = each.second;
        return !worker.disconnected() && ever_fits(largest, worker.whole);
    });
}

std::vector<ShapeCount> View::unfinished() const {
    std::vector<ShapeCount> all(ledger_.shapes());
    for (std::uint32_t number = 0; number < ledger_.shapes(); ++number) {
        ShapeCount& one = all[number];
        one.shape = ShapeId(number);
        const ReadyTasks& ready = ledger_.ready(one.shape);
        one.ready = ready.suspects.count();
        for (const auto& [priority, queue] : ready.queues)
            one.ready += queue.fresh.count() + queue.again.count();
    }
    for (const auto& [id, worker] : workers_.all())
        for (const TaskId task : worker.leases) ++all[ledger_.shape_of(task).value()].on_workers;
    if (state_.batch) all[state_.batch->shape.value()].on_workers += ledger_.count(TaskState::sealed);
    std::erase_if(all, [](const ShapeCount& one) { return one.ready + one.on_workers == 0; });
    return all;
}

ManagerStats View::stats(CategoryId category) const {
    ManagerStats all = stats();
    const ManagerStats own = counters_.of(category);
    const auto count = [&](TaskState state) {
        return static_cast<std::int64_t>(ledger_.count(category, state));
    };
    all.tasks_waiting = count(TaskState::blocked) + count(TaskState::ready);
    all.tasks_on_workers = count(TaskState::leased) + count(TaskState::sealed);
    all.tasks_running = std::min(all.tasks_running, all.tasks_on_workers);
    all.tasks_done = count(TaskState::done) + count(TaskState::failed);
    all.tasks_failed = count(TaskState::failed);
    all.tasks_cancelled = count(TaskState::cancelled);
    all.tasks_submitted = all.tasks_waiting + all.tasks_on_workers + all.tasks_done + all.tasks_cancelled +
                          count(TaskState::skipped);
    all.tasks_dispatched = own.tasks_dispatched;
    all.tasks_exhausted_attempts = own.tasks_exhausted_attempts;
    all.tasks_lost_attempts = own.tasks_lost_attempts;
    all.workers_fast_aborted = own.workers_fast_aborted;
    all.tasks_copied_attempts = own.tasks_copied_attempts;
    all.time_execute = own.time_execute;
    all.time_execute_good = own.time_execute_good;
    all.time_execute_exhaustion = own.time_execute_exhaustion;
    return all;
}

// The first ready task that no worker can hold, even if idle.
std::string View::what_fits_nowhere() const {
    int looked = 0;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (++looked > 64) break;
        if (pool_.fits_somewhere(head.shape)) continue;
        const Shape& shape = ledger_.shape(head.shape);
        const std::string features = shape.features.empty() ? "" : ", " + describe(shape.features);
        return "a worker with " + model::describe(state_.asked(head.shape)) + features + ", for task " +
               std::to_string(head.task.value());
    }
    return "";
}

// The first ready task that only blocked hosts could run.
std::string View::what_is_blocked() const {
    int looked = 0;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (state_.blocks.empty() || ++looked > 64) break;
        const std::string hosts = pool_.blocked_hosts_for(head.shape);
        if (hosts.empty()) continue;
        return "a host that is not blocked, for task " + std::to_string(head.task.value()) +
               "; unblock_host() would let it run on " + hosts;
    }
    return "";
}

std::string View::waiting_for() const {
    const auto count = [&](TaskState state) { return ledger_.count(state); };
    const std::uint64_t out = count(TaskState::leased) + count(TaskState::sealed);
    const std::string disconnected =
        workers_.disconnected_count() == 0
            ? ""
            : "; " + count_of(workers_.disconnected_count(), "worker") + " disconnected, may reconnect";
    if (state_.run.storage_trouble()) return "storage: results cannot be written yet";
    if (state_.run.stopping()) return count_of(out, "running task") + " to end (stopping)";
    if (const auto there = state_.connected_workers(); there < state_.run.hold_until_workers())
        return std::to_string(state_.run.hold_until_workers()) +
               " workers connected at the same time; connected now: " + std::to_string(there);
    if (workers_.empty())
        return counters_.all().workers_joined == 0 ? "workers: none has joined" : "workers: all have left";
    if (out > 0) return count_of(out, "task") + " to end" + disconnected;
    if (const std::string what = what_is_blocked(); !what.empty()) return what;
    if (const std::string what = what_fits_nowhere(); !what.empty()) return what + disconnected;
    if (const std::uint64_t early = ledger_.early().count(); early > 0 && early == count(TaskState::ready))
        return "the start time of " + count_of(early, "task");
    if (count(TaskState::ready) > 0)
        return "a worker with room and time for " + count_of(count(TaskState::ready), "ready task") +
               disconnected;
    if (!state_.run.input_ended()) return "more lines of the task list";
    return "nothing";
}

// ---- what waits, by class ----

namespace {

constexpr std::size_t most_shapes_told = 1000;

}  // namespace

// Why no task at all is dispatched.
std::optional<WaitReason> View::reason_for_all() const {
    if (state_.run.storage_trouble()) return WaitReason::storage;
    if (state_.run.stopping()) return WaitReason::stopping;
    const std::size_t connected = state_.connected_workers();
    if (connected == 0 || connected < state_.run.hold_until_workers()) return WaitReason::no_worker;
    if (!fit_.run_has_room()) return WaitReason::limit;
    return std::nullopt;
}

// Looks at the kinds of workers that get tasks first: at each worker's offer only if none of these fits.
WaitReason View::reason_for(ShapeId shape) const {
    if (!fit_.category_has_room(ledger_.shape(shape))) return WaitReason::limit;
    if (pool_.some_host_holds(shape, nullptr)) return WaitReason::busy;
    return pool_.fits_somewhere(shape) ? WaitReason::hosts : WaitReason::nowhere;
}

std::vector<WaitingTasks> View::waiting() const {
    std::vector<WaitingTasks> all;
    const auto add = [&](std::optional<ShapeId> shape, WaitReason reason, std::uint64_t tasks) {
        if (tasks > 0) all.push_back({shape, reason, tasks});
    };
    const std::uint64_t early = ledger_.early().count();
    std::uint64_t untold = ledger_.count(TaskState::ready) - early;
    const std::optional<WaitReason> for_all = reason_for_all();
    for (const ShapeId shape : ledger_.some_ready_shapes(most_shapes_told)) {
        const std::uint64_t tasks = ledger_.ready(shape).count();
        add(shape, for_all ? *for_all : reason_for(shape), tasks);
        untold -= tasks;
    }
    add(std::nullopt, for_all.value_or(WaitReason::busy), untold);
    add(std::nullopt, WaitReason::start_time, early);
    add(std::nullopt, WaitReason::tasks, ledger_.count(TaskState::blocked));
    if (all.empty() && !state_.run.input_ended()) add(std::nullopt, WaitReason::program, 1);
    return all;
}

// A worker's launcher starts its leases in order, as far as they fit.
bool View::queues_at(const Worker& worker, TaskId task) const {
    if (worker.queue() == 0) return false;
    std::vector<std::pair<Instant, TaskId>> leases;
    for (const TaskId lease : worker.leases)
        if (state_.copies.at(worker.id, lease) == nullptr)  // copies start at once
            leases.emplace_back(ledger_.find_attempted(lease)->since, lease);
    std::sort(leases.begin(), leases.end());
    Resources left = worker.whole;
    for (const auto& [since, lease] : leases) {
        const Resources& given = ledger_.find_attempted(lease)->given;
        const bool starts = given.fits_in(left);
        if (lease == task) return !starts;
        if (starts) left -= given;
    }
    return false;
}

std::string View::why(TaskId task, Now now, Attempt earlier) const {
    if (task.value() >= ledger_.size()) return "not now: the manager has not read it yet";
    switch (ledger_.state(task)) {
        case TaskState::blocked:
            return "not now: it waits for earlier tasks, because of a group or a barrier in the list";
        case TaskState::ready:
            return why_not_dispatched(task, now);
        case TaskState::leased: {
            const Attempted& attempted = *ledger_.find_attempted(task);
            const Worker& worker = *workers_.find(attempted.worker);
            const bool queues = queues_at(worker, task);
            return (queues ? "it is queued on worker " : "it was sent to worker ") +
                   std::to_string(worker.id.value()) + " on " + worker.host +
                   (queues ? ", whose running tasks leave it no room" : "") + " (attempt " +
                   std::to_string(earlier + attempted.shown()) + ", " + model::describe(attempted.given) +
                   ")" + (worker.disconnected() ? "; that worker is disconnected and may reconnect" : "");
        }
        case TaskState::sealed:
            return "it is queued for the ranks, or runs: ranks take such tasks without asking the manager";
        default:
            return "it has ended";
    }
}

std::string View::why_not_dispatched(TaskId task, Now now) const {
    const ShapeId shape = ledger_.shape_of(task);
    const Shape& what = ledger_.shape(shape);
    if (state_.run.storage_trouble())
        return "not now: results cannot be written; no task is dispatched until they are";
    if (state_.run.stopping()) return "never: the run is being stopped";
    const auto not_before = ledger_.times(task).not_before;
    if (not_before && *not_before > now.wall)
        return "not now: it starts in " + format_duration(std::chrono::microseconds(*not_before - now.wall)) +
               " at the earliest";
    if (state_.run.hold_until_workers() > 0)
        return "not now: no task is dispatched until " +
               with_verb(state_.run.hold_until_workers(), "worker is", "workers are") +
               " connected at the same time";
    if (workers_.empty()) return "not now: no worker is connected";
    std::size_t able = 0;
    std::size_t taking = 0;
    for (const auto& [id, worker] : workers_.all()) {
        if (!fit_.could_hold(worker, shape, now.instant)) continue;
        ++able;
        if (worker.available()) ++taking;
    }
    if (able == 0 && !what.workers.empty())
        return std::string(state_.options.wait_for_fitting ? "not now" : "never") +
               ": the workers that it names are not there, too small, or leave too soon";
    if (able == 0)
        return "not now: no worker can hold it: it needs " + pool_.what_is_missing(shape) +
               (what.min_time > Duration{0}
                    ? "; and at least " + format_duration(what.min_time) + " until the worker leaves"
                    : "");
    if (const std::string hosts = pool_.blocked_hosts_for(shape); !hosts.empty())
        return "not now: all hosts that could run it are blocked: " + hosts +
               "; unblock_host() or unblock_all() ends that";
    if (!fit_.run_has_room())
        return "not now: as many tasks run as may run at once: " +
               std::to_string(state_.options.most_running);
    if (!fit_.category_has_room(what))
        return "not now: its category runs as many tasks as it may: " +
               std::to_string(state_.category(what.category).max_concurrent());
    if (const AvoidedHosts::Avoided* avoided = state_.avoided.find(task))
        return "not now: it was too slow on " + avoided->host + "; it waits up to " +
               format_duration(avoided->until - now.instant) + " more for another " +
               (avoided->whole_host ? "host" : "worker");
    if (taking == 0)
        return "not now: " + with_verb(able, "worker that could run it is leaving or disconnected",
                                       "workers that could run it are leaving or disconnected");
    return "not now: it will get " + model::describe(fit_.share(shape, largest_for(shape, now))) + "; " +
           with_verb(taking, "worker that could run it is busy", "workers that could run it are busy");
}

// The resources of the worker with the most cores among those that could hold the shape.
Resources View::largest_for(ShapeId shape, Now now) const {
    Resources largest;
    for (const auto& [id, worker] : workers_.all())
        if (worker.available() && fit_.could_hold(worker, shape, now.instant) &&
            worker.whole.cores > largest.cores)
            largest = worker.whole;
    return largest;
}

}  // namespace wq::engine::policies
