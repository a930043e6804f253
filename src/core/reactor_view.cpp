// What others may see of the reactor: figures, an explanation, and for tests the audit.
#include <algorithm>

#include "core/allocation.h"
#include "core/reactor.h"

namespace wq::core {

// What ranks may run by ticket at once.
Reactor::Lanes Reactor::lanes_of_batch() const {
    Lanes lanes;
    auto left = static_cast<std::int64_t>(ledger_.count(TaskState::sealed));
    for (const WorkerId id : batch_->members) {
        const Worker& member = *workers_.find(id);
        if (member.away()) continue;
        const Resources each = share_by_ticket(member.whole);
        const std::int64_t here = std::min(left, how_many_fit(each, member.whole));
        lanes.count += here;
        lanes.cores += here * each.cores;
        left -= here;
    }
    return lanes;
}

ManagerStats Reactor::stats() const {
    ManagerStats stats = counters_;
    const auto count = [&](TaskState state) { return static_cast<std::int64_t>(ledger_.count(state)); };
    stats.workers_connected = static_cast<std::int64_t>(workers_.size() - workers_.away());
    std::int64_t ticket_busy = 0;
    Lanes by_ticket;
    if (batch_) {
        for (const WorkerId id : batch_->members) ticket_busy += workers_.find(id)->away() ? 0 : 1;
        by_ticket = lanes_of_batch();
    }
    stats.workers_busy = std::max(static_cast<std::int64_t>(workers_.busy()), ticket_busy);
    stats.workers_idle = stats.workers_connected - stats.workers_busy;
    stats.workers_able = able_workers();
    stats.hosts_blocked = static_cast<std::int64_t>(blocks_.size());
    stats.workers_joined = static_cast<std::int64_t>(joined_);
    stats.workers_lost = static_cast<std::int64_t>(lost_);
    stats.tasks_waiting = count(TaskState::blocked) + count(TaskState::ready);
    stats.tasks_on_workers = count(TaskState::leased) + count(TaskState::sealed);
    stats.tasks_submitted = static_cast<std::int64_t>(ledger_.size());
    stats.tasks_done = count(TaskState::done) + count(TaskState::failed);
    stats.tasks_failed = count(TaskState::failed);
    stats.tasks_cancelled = count(TaskState::cancelled);
    stats.total_cores = workers_.total().cores.rounded_down();
    stats.total_memory = workers_.total().memory_mb;
    stats.total_disk = workers_.total().disk_mb;
    // Tickets are no leases; but each that runs has its cores.
    stats.committed_cores =
        std::min(workers_.committed().cores + by_ticket.cores, workers_.total().cores).rounded_up();
    stats.committed_memory = std::min(workers_.committed().memory_mb, workers_.total().memory_mb);
    stats.committed_disk = std::min(workers_.committed().disk_mb, workers_.total().disk_mb);
    // What runs is what is out, less what waits in the workers' launchers for a core.
    stats.tasks_running = batch_ ? std::min(stats.tasks_on_workers, by_ticket.count)
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
    }
    return stats;
}

// Of those that are here, how many would hold a task that needs of each resource the most that a waiting one
// does.
std::int64_t Reactor::able_workers() const {
    constexpr int most_looked_at = 1000;  // shapes: a sample of the time series may take no longer
    Needs largest;
    int looked = 0;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (++looked > most_looked_at) break;
        const Needs& needs = asked(head.shape).needs;
        largest.cores = std::max(largest.cores, needs.cores);
        largest.memory_mb = std::max(largest.memory_mb, needs.memory_mb);
        largest.disk_mb = std::max(largest.disk_mb, needs.disk_mb);
        largest.gpus = std::max(largest.gpus, needs.gpus);
    }
    return std::count_if(workers_.all().begin(), workers_.all().end(), [&](const auto& each) {
        const Worker& worker = each.second;
        return !worker.away() && ever_fits(largest, worker.whole);
    });
}

ManagerStats Reactor::stats(CategoryId category) const {
    ManagerStats all = stats();
    const bool known = category.value() < category_counters_.size();
    const ManagerStats own = known ? category_counters_[category.value()] : ManagerStats{};
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

// The first ready task that no worker can hold, however idle it is.
std::string Reactor::what_fits_nowhere() const {
    int looked = 0;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (++looked > 64) break;
        if (fits_somewhere(head.shape)) continue;
        const Shape& shape = ledger_.shape(head.shape);
        const std::string features = shape.features.empty() ? "" : ", " + describe(shape.features);
        return "a worker with " + describe(asked(head.shape)) + features + ", for task " +
               std::to_string(head.task.value());
    }
    return "";
}

// The first ready task that only hosts could run that are blocked.
std::string Reactor::what_is_blocked() const {
    int looked = 0;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (blocks_.empty() || ++looked > 64) break;
        const std::string hosts = blocked_hosts_for(head.shape);
        if (hosts.empty()) continue;
        return "a host that is not blocked, for task " + std::to_string(head.task.value()) +
               ": unblock_host() lets it run on " + hosts;
    }
    return "";
}

std::string Reactor::waiting_for() const {
    const auto count = [&](TaskState state) { return ledger_.count(state); };
    const std::uint64_t out = count(TaskState::leased) + count(TaskState::sealed);
    const std::string away =
        workers_.away() == 0 ? ""
                             : "; away, and perhaps back: " + std::to_string(workers_.away()) + " workers";
    if (storage_trouble_) return "storage: results cannot be written";
    if (stop_) return std::to_string(out) + " running tasks to end (stopping)";
    if (const auto there = workers_.size() - workers_.away(); there < hold_until_workers_)
        return std::to_string(hold_until_workers_) +
               " workers to be there at once: " + std::to_string(there) + " are";
    if (workers_.empty()) return joined_ == 0 ? "workers: none has joined" : "workers: none is left";
    if (out > 0) return std::to_string(out) + " tasks to end" + away;
    if (const std::string what = what_is_blocked(); !what.empty()) return what;
    if (const std::string what = what_fits_nowhere(); !what.empty()) return what + away;
    if (const std::uint64_t early = ledger_.early().count(); early > 0 && early == count(TaskState::ready))
        return "the start time of " + std::to_string(early) + " tasks";
    if (count(TaskState::ready) > 0)
        return "a worker with room and time for " + std::to_string(count(TaskState::ready)) + " ready tasks" +
               away;
    if (!input_ended_) return "more lines of the task list";
    return "nothing";
}

std::optional<std::string> Reactor::audit() const {
    if (auto wrong = ledger_.audit()) return wrong;
    if (auto wrong = workers_.audit()) return wrong;
    if (auto wrong = audit_pace()) return wrong;
    if (auto wrong = audit_avoided()) return wrong;
    if (auto wrong = audit_hosts()) return wrong;
    if (auto wrong = audit_copies()) return wrong;
    std::uint64_t leases = 0;
    for (const auto& [id, worker] : workers_.all()) {
        Resources used;
        for (const TaskId task : worker.leases) {
            const Attempted* attempted = ledger_.find_attempted(task);
            const Copy* copy = copy_at(id, task);
            if (attempted == nullptr || !attempted->leased || (attempted->worker != id && copy == nullptr))
                return "worker " + std::to_string(id.value()) + " holds task " +
                       std::to_string(task.value()) + ", which is " + name_of(ledger_.state(task));
            used += copy != nullptr ? copy->given : attempted->given;
        }
        if (used != worker.used)
            return "worker " + std::to_string(id.value()) + " uses " + describe(worker.used);
        leases += worker.leases.size();
    }
    if (leases != ledger_.count(TaskState::leased) + copies_.size()) return "a leased task has no worker";
    const std::uint64_t outstanding = batch_ ? batch_->outstanding.count() : 0;
    if (outstanding != ledger_.count(TaskState::sealed))
        return std::to_string(ledger_.count(TaskState::sealed)) + " tasks are sealed, the batch has " +
               std::to_string(outstanding);
    if (reserved_ && !workers_.find(reserved_->worker)->available())
        return "a worker that gets none is reserved";
    for (const WorkerId rank : pool_)
        if (!workers_.find(rank)->available()) return "a rank of the pool gets none";
    std::uint64_t last_chances = 0;
    for (std::uint64_t id = 0; id < ledger_.size(); ++id) {
        const TaskId task(id);
        const TaskState state = ledger_.state(task);
        if (last_chance(task)) ++last_chances;
        const Attempted* attempted = ledger_.find_attempted(task);
        const Tries known = tries(task);
        if (attempted != nullptr && known.most > 0 && known.spent >= known.most)
            return "task " + std::to_string(id) + " was tried too often, and goes on";
        if (is_final(state)) continue;
        if ((state == TaskState::blocked) != groups_.blocked(task))
            return "task " + std::to_string(id) + " is " + name_of(state) + ", its groups disagree";
    }
    if (last_chances != last_chances_) return "the count of last chances is wrong";
    return std::nullopt;
}

}  // namespace wq::core
