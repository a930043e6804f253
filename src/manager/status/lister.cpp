#include "manager/status/lister.h"

#include <algorithm>
#include <vector>

#include "manager/status/figures.h"

namespace wq::manager::status {

namespace {

// Ids of a part that are looked at, so that many ended tasks between two others take little time at once.
constexpr std::uint64_t most_ids = 4096;

TaskState state_of(engine::model::TaskState state) {
    const bool waits = state == engine::model::TaskState::blocked || state == engine::model::TaskState::ready;
    return waits ? TaskState::ready : TaskState::running;
}

void append(std::string& records, const std::string& record) {
    if (!records.empty()) records += ',';
    records += record;
}

}  // namespace

net::messages::StatusPart Lister::part(net::messages::StatusOf what, std::uint64_t from) {
    switch (what) {
        case net::messages::StatusOf::tasks:
            return tasks(from);
        case net::messages::StatusOf::workers:
            return workers(from);
        case net::messages::StatusOf::categories:
            return {categories_as_json(parts()), 0};
        case net::messages::StatusOf::queue:
        case net::messages::StatusOf::shapes:
            break;
    }
    return {queue_as_json(parts()), 0};
}

QueueParts Lister::parts() const {
    QueueParts parts;
    parts.queue = queue_.described();
    parts.stats = statistics_of(queue_.stats());
    for (const auto& [id, worker] : manager_.reactor().workers().all())
        if (!worker.disconnected()) parts.resources.add(resources_of(worker));
    parts.requests = requests_of(manager_);
    parts.blocked_hosts = blocked_hosts_of(manager_);
    parts.categories = categories_of(manager_);
    return parts;
}

net::messages::StatusPart Lister::tasks(std::uint64_t from) const {
    const engine::model::Ledger& ledger = manager_.reactor().ledger();
    const std::uint64_t end = from + std::min(most_ids, ledger.size() - std::min(ledger.size(), from));
    IntervalSet ids;
    if (from < end) ids.insert(Interval{from, end});
    ids = ledger.unended(ids);
    net::messages::StatusPart part{{}, end < ledger.size() ? end : 0};
    while (const auto ranges = ids.front()) {
        const TaskId id(ranges->first);
        if (part.records.size() >= net::messages::status_part_bytes) {
            part.next = id.value();
            break;
        }
        ids.erase(id.value());
        if (const auto task = whole(id)) append(part.records, task_as_json(*task));
    }
    return part;
}

std::optional<TaskOfStatus> Lister::whole(TaskId id) const {
    auto task = queue_.task(id);
    if (!task) return task;
    const engine::model::Ledger& ledger = manager_.reactor().ledger();
    const engine::model::Shape& shape = ledger.shape(ledger.shape_of(id));
    task->state = state_of(ledger.state(id));
    task->category = manager_.records().categories().at(shape.category.value());
    task->priority = ledger.priority(id);
    task->requested = {shape.needs.cores.as_double(), shape.needs.memory_mb, shape.needs.disk_mb,
                       shape.needs.gpus.as_double()};
    const engine::model::Attempted* const attempted = ledger.find_attempted(id);
    if (attempted == nullptr || !attempted->leased) return task;
    const engine::model::Worker* const worker = manager_.reactor().workers().find(attempted->worker);
    if (worker == nullptr) return task;
    const records::journal::WorkerRecord* const record = manager_.worker(worker->id);
    task->place = {worker->host, record == nullptr ? std::string() : record->address, dispatched(id, ledger)};
    return task;
}

net::messages::StatusPart Lister::workers(std::uint64_t from) const {
    std::vector<WorkerId> ids;
    for (const auto& [id, worker] : manager_.reactor().workers().all())
        if (id.value() >= from) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    const NameTask name_task = [this](std::int64_t id) {
        return queue_.task(TaskId(static_cast<std::uint64_t>(id) - 1));
    };
    net::messages::StatusPart part;
    for (const WorkerId id : ids) {
        if (part.records.size() >= net::messages::status_part_bytes) {
            part.next = id.value();
            break;
        }
        const engine::model::Worker& worker = *manager_.reactor().workers().find(id);
        append(part.records, worker_as_json(summary_of(worker, manager_), name_task));
    }
    return part;
}

}  // namespace wq::manager::status
