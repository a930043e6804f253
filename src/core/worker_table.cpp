#include "core/worker_table.h"

#include <utility>

namespace wq::core {

namespace {

// Hearing a worker again within this time is not worth an entry in the index.
constexpr Duration heard_grain = std::chrono::milliseconds(100);

std::pair<std::int64_t, WorkerId> free_key(const Worker& worker) {
    return {-worker.free().cores, worker.id};
}

}  // namespace

WorkerKind Worker::kind() const {
    if (!leaves_at) return {whole, -1};
    return {whole, std::chrono::floor<std::chrono::minutes>(leaves_at->time_since_epoch()).count()};
}

Resources Worker::free() const {
    Resources left = whole;
    left -= used;
    return left;
}

Worker& WorkerTable::add(const WorkerJoined& joined, Instant now) {
    Worker& worker = workers_[joined.worker];
    worker = Worker{};
    worker.id = joined.worker;
    worker.host = joined.host;
    worker.whole = joined.offers;
    worker.leaves_at = joined.leaves_at;
    worker.takes_tickets = joined.takes_tickets;
    worker.last_heard = now;
    kinds_[worker.kind()].insert(free_key(worker));
    by_heard_.insert({now, worker.id});
    total_ += worker.whole;
    changed(worker);
    return worker;
}

void WorkerTable::remove(WorkerId id) {
    const auto found = workers_.find(id);
    if (found == workers_.end()) return;
    const Worker& worker = found->second;
    const auto kind = kinds_.find(worker.kind());
    kind->second.erase(free_key(worker));
    if (kind->second.empty()) kinds_.erase(kind);
    by_heard_.erase({worker.last_heard, id});
    total_ -= worker.whole;
    committed_ -= worker.used;
    if (!worker.leases.empty()) --busy_;
    workers_.erase(found);
}

Worker* WorkerTable::find(WorkerId id) {
    return const_cast<Worker*>(std::as_const(*this).find(id));
}

const Worker* WorkerTable::find(WorkerId id) const {
    const auto found = workers_.find(id);
    return found == workers_.end() ? nullptr : &found->second;
}

void WorkerTable::heard(Worker& worker, Instant now) {
    if (now - worker.last_heard < heard_grain) return;
    by_heard_.erase({worker.last_heard, worker.id});
    worker.last_heard = now;
    by_heard_.insert({now, worker.id});
}

const Worker* WorkerTable::quietest() const {
    return by_heard_.empty() ? nullptr : find(by_heard_.begin()->second);
}

void WorkerTable::move(Worker& worker, const Resources& used) {
    committed_ -= worker.used;
    committed_ += used;
    ByFree& kind = kinds_.find(worker.kind())->second;
    auto node = kind.extract(free_key(worker));
    worker.used = used;
    node.value() = free_key(worker);
    kind.insert(std::move(node));
}

void WorkerTable::lease(Worker& worker, TaskId task, const Resources& give) {
    if (worker.leases.empty()) ++busy_;
    worker.leases.insert(task);
    Resources used = worker.used;
    move(worker, used += give);
}

void WorkerTable::release(Worker& worker, TaskId task, const Resources& given) {
    if (worker.leases.erase(task) == 0) return;
    if (worker.leases.empty()) --busy_;
    Resources used = worker.used;
    move(worker, used -= given);
    if (worker.suspect == task) {
        worker.suspect.reset();
        worker.alone = false;
    }
    changed(worker);
}

void WorkerTable::changed(Worker& worker) {
    if (std::exchange(worker.has_changed, true)) return;
    changed_.push_back(worker.id);
}

std::vector<WorkerId> WorkerTable::take_changed() {
    for (const WorkerId id : changed_)
        if (Worker* worker = find(id)) worker->has_changed = false;
    return std::exchange(changed_, {});
}

std::optional<std::string> WorkerTable::audit() const {
    Resources total;
    Resources committed;
    std::uint64_t busy = 0;
    std::size_t indexed = 0;
    for (const auto& [id, worker] : workers_) {
        total += worker.whole;
        committed += worker.used;
        if (!worker.leases.empty()) ++busy;
        const auto kind = kinds_.find(worker.kind());
        if (kind == kinds_.end() || !kind->second.contains(free_key(worker)) ||
            !by_heard_.contains({worker.last_heard, id}))
            return "worker " + std::to_string(id.value()) + " is not indexed";
        if (worker.suspect && !worker.leases.contains(*worker.suspect))
            return "worker " + std::to_string(id.value()) + " does not hold its suspect";
        if (worker.alone && (!worker.suspect || worker.leases.size() != 1))
            return "worker " + std::to_string(id.value()) + " runs more than the task that is to be alone";
    }
    for (const auto& [kind, workers] : kinds_) indexed += workers.size();
    if (indexed != workers_.size() || by_heard_.size() != workers_.size())
        return "an index of the workers is too large";
    if (total != total_ || committed != committed_ || busy != busy_)
        return "the sums of the workers are wrong";
    return std::nullopt;
}

}  // namespace wq::core
