#include "core/reactor.h"

#include <algorithm>

namespace wq::core {

namespace {
// Leases that wait behind others in a launcher are recalled when another worker has stood idle for so long.
constexpr Duration recall_after = std::chrono::milliseconds(50);
}  // namespace

Reactor::Reactor(ReactorOptions options, Now started) : options_(options), started_(started) {
    counters_.time_when_started = started.wall;
}

void Reactor::on(const Event& event, Now now, std::vector<Action>& actions) {
    if (finished_) return;
    last_event_ = now.instant;
    std::visit([&](const auto& known) { on_event(known, now, actions); }, event);
    dispatch(now, actions);
    finish_if_over(now, actions);
}

std::optional<Instant> Reactor::wakeup() const {
    if (finished_) return std::nullopt;
    std::optional<Instant> next;
    const auto consider = [&](Instant at) { next = next ? std::min(*next, at) : at; };
    if (const Worker* worker = workers_.quietest()) consider(worker->last_heard + options_.silence);
    if (stop_) consider(stop_->killed ? stop_->kill_at + options_.kill_limit : stop_->kill_at);
    if (workers_.size() < options_.expected_workers && joined_ < options_.expected_workers)
        consider(started_.instant + options_.join_limit);
    if (someone_idles_while_leases_queue()) consider(last_event_ + recall_after);
    return next;
}

Reactor::ShapeState& Reactor::state_of(ShapeId shape) {
    if (shape.value() >= shape_states_.size()) shape_states_.resize(shape.value() + 1);
    return shape_states_[shape.value()];
}

ManagerStats Reactor::stats() const {
    ManagerStats stats = counters_;
    const auto count = [&](TaskState state) { return static_cast<std::int64_t>(ledger_.count(state)); };
    stats.workers_connected = static_cast<std::int64_t>(workers_.size());
    const auto ticket_busy = batch_ ? static_cast<std::int64_t>(pool_.size()) : 0;
    stats.workers_busy = std::max(static_cast<std::int64_t>(workers_.busy()), ticket_busy);
    stats.workers_idle = stats.workers_connected - stats.workers_busy;
    stats.workers_able = stats.workers_connected;
    stats.workers_joined = static_cast<std::int64_t>(joined_);
    stats.workers_lost = static_cast<std::int64_t>(lost_);
    stats.tasks_waiting = count(TaskState::blocked) + count(TaskState::ready);
    stats.tasks_on_workers = count(TaskState::leased) + count(TaskState::sealed);
    stats.tasks_submitted = static_cast<std::int64_t>(ledger_.size());
    stats.tasks_done = count(TaskState::done) + count(TaskState::failed);
    stats.tasks_failed = count(TaskState::failed);
    stats.total_cores = workers_.total().cores;
    stats.total_memory = workers_.total().memory_mb;
    stats.total_disk = workers_.total().disk_mb;
    stats.committed_cores = std::min(workers_.committed().cores, workers_.total().cores);
    stats.committed_memory = std::min(workers_.committed().memory_mb, workers_.total().memory_mb);
    stats.committed_disk = std::min(workers_.committed().disk_mb, workers_.total().disk_mb);
    // What runs is what is out, less what waits in the workers' launchers for a core.
    stats.tasks_running = batch_ ? std::min(stats.tasks_on_workers, stats.total_cores) : stats.tasks_on_workers;
    const auto& by_free = workers_.by_free_cores();
    for (auto it = by_free.rbegin(); it != by_free.rend() && it->first > 0 && !batch_; ++it) stats.tasks_running -= it->first;
    stats.tasks_running = std::max<std::int64_t>(stats.tasks_running, 0);
    return stats;
}

std::string Reactor::waiting_for() const {
    const auto count = [&](TaskState state) { return ledger_.count(state); };
    if (storage_trouble_) return "storage: results cannot be written";
    if (workers_.empty()) return "workers: none has joined";
    if (stop_) return std::to_string(count(TaskState::leased) + count(TaskState::sealed)) + " running tasks to end (stopping)";
    if (count(TaskState::leased) + count(TaskState::sealed) > 0)
        return std::to_string(count(TaskState::leased) + count(TaskState::sealed)) + " tasks to end";
    if (count(TaskState::ready) > 0) return "a worker with room for " + std::to_string(count(TaskState::ready)) + " ready tasks";
    if (!input_ended_) return "more lines of the task list";
    return "nothing";
}

std::optional<std::string> Reactor::audit() const {
    if (auto wrong = ledger_.audit()) return wrong;
    Resources total;
    Resources committed;
    std::uint64_t leases = 0;
    for (const auto& [id, worker] : workers_.all()) {
        Resources used;
        for (const TaskId task : worker.leases) {
            const Attempted* attempted = ledger_.find_attempted(task);
            if (ledger_.state(task) != TaskState::leased || attempted == nullptr || attempted->worker != id)
                return "worker " + std::to_string(id.value()) + " holds task " + std::to_string(task.value()) +
                       ", which is " + name_of(ledger_.state(task));
            used += attempted->given;
        }
        if (!(used == worker.used)) return "worker " + std::to_string(id.value()) + " uses " + describe(worker.used);
        leases += worker.leases.size();
        total += worker.whole;
        committed += used;
    }
    if (leases != ledger_.count(TaskState::leased)) return "a leased task has no worker";
    if (!(total == workers_.total()) || !(committed == workers_.committed())) return "the sums of the workers are wrong";
    const std::uint64_t outstanding = batch_ ? batch_->outstanding.count() : 0;
    if (outstanding != ledger_.count(TaskState::sealed))
        return std::to_string(ledger_.count(TaskState::sealed)) + " tasks are sealed, the batch has " +
               std::to_string(outstanding);
    for (std::uint64_t id = 0; id < ledger_.size(); ++id) {
        const TaskId task(id);
        const TaskState state = ledger_.state(task);
        if (state == TaskState::blocked && !groups_.blocked(task)) return "task " + std::to_string(id) + " waits for nothing";
        if ((state == TaskState::ready || state == TaskState::leased) && groups_.blocked(task))
            return "task " + std::to_string(id) + " is out although it is blocked";
    }
    return std::nullopt;
}

}  // namespace wq::core
