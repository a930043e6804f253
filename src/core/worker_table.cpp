#include "core/worker_table.h"

namespace wq::core {

namespace {
std::pair<std::int64_t, WorkerId> free_key(const Worker& worker) {
    return {worker.used.cores - worker.whole.cores, worker.id};
}
}  // namespace

Worker& WorkerTable::add(const WorkerJoined& joined, Instant now) {
    Worker& worker = workers_[joined.worker];
    worker = Worker{};
    worker.id = joined.worker;
    worker.host = joined.host;
    worker.whole = joined.offers;
    worker.leaves_at = joined.leaves_at;
    worker.takes_tickets = joined.takes_tickets;
    worker.last_heard = now;
    by_free_.insert(free_key(worker));
    by_heard_.insert({now, worker.id});
    total_ += worker.whole;
    return worker;
}

void WorkerTable::remove(WorkerId id) {
    const auto found = workers_.find(id);
    if (found == workers_.end()) return;
    const Worker& worker = found->second;
    by_free_.erase(free_key(worker));
    by_heard_.erase({worker.last_heard, id});
    total_ -= worker.whole;
    committed_ -= worker.used;
    if (!worker.leases.empty()) --busy_;
    workers_.erase(found);
}

Worker* WorkerTable::find(WorkerId id) {
    const auto found = workers_.find(id);
    return found == workers_.end() ? nullptr : &found->second;
}

const Worker* WorkerTable::find(WorkerId id) const {
    const auto found = workers_.find(id);
    return found == workers_.end() ? nullptr : &found->second;
}

void WorkerTable::heard(Worker& worker, Instant now) {
    by_heard_.erase({worker.last_heard, worker.id});
    worker.last_heard = now;
    by_heard_.insert({now, worker.id});
}

const Worker* WorkerTable::quietest() const {
    return by_heard_.empty() ? nullptr : find(by_heard_.begin()->second);
}

void WorkerTable::lease(Worker& worker, TaskId task, const Resources& give) {
    by_free_.erase(free_key(worker));
    worker.used += give;
    committed_ += give;
    by_free_.insert(free_key(worker));
    if (worker.leases.empty()) ++busy_;
    worker.leases.insert(task);
}

void WorkerTable::release(Worker& worker, TaskId task, const Resources& given) {
    if (worker.leases.erase(task) == 0) return;
    by_free_.erase(free_key(worker));
    worker.used -= given;
    committed_ -= given;
    by_free_.insert(free_key(worker));
    if (worker.leases.empty()) --busy_;
    if (worker.suspect == task) worker.suspect.reset();
}

}  // namespace wq::core
