#include "api/queue_status.h"

#include <algorithm>
#include <map>

#include "api/listening.h"
#include "net/frames/tcp_listener.h"

namespace wq::api {

manager::status::TaskOfStatus named(std::int64_t id, const TaskData& task) {
    manager::status::TaskOfStatus named;
    named.id = id;
    named.command = task.text_for_people();
    named.category = task.category;
    named.tag = task.tag;
    named.priority = task.priority;
    if (task.remote()) named.coprocess = task.specs->coprocess;
    if (task.specs) named.requested = task.specs->needs;
    return named;
}

manager::status::QueueOfStatus described(const ManagerOptions& options, int port) {
    auto queue =
        manager::status::described(options.name, port, uses_tls(options), net::frames::own_addresses());
    queue.priority = options.priority;
    queue.tasks_left = options.tasks_left;
    queue.preferred_connection = options.preferred_connection;
    return queue;
}

void ProgramQueue::describe(manager::status::QueueOfStatus described) {
    if (described == described_) return;
    described_ = std::move(described);
    if (announcing_) announcing_->changed();
}

void ProgramQueue::list(manager::Manager& manager, manager::status::Announcing::Announce announce) {
    manager_ = &manager;
    lister_.emplace(manager, *this);
    announcing_.emplace(*lister_, std::move(announce));
    manager.list_by(&*lister_);
}

void ProgramQueue::list_to_others(manager::Manager& manager, bool on) {
    manager.list_by(on ? &*lister_ : nullptr);
}

engine::model::ManagerStats ProgramQueue::stats() const {
    engine::model::ManagerStats stats = recorder_.as_seen(manager_->stats());
    stats.time_when_started = started_.wall;
    return stats;
}

std::optional<manager::status::TaskOfStatus> ProgramQueue::task(TaskId task) const {
    const auto id = static_cast<std::int64_t>(task.value()) + 1;
    if (const TaskData* const data = tasks_.find(task)) return named(id, *data);
    const RangeTask* const range = tasks_.range_of(task);
    if (range == nullptr) return std::nullopt;
    auto call = named(id, *range->data);
    call.command = range->data->text + "(" + std::to_string(range->index_of(task.value())) + ")";
    return call;
}

namespace {

using manager::status::TaskOfStatus;

std::string tasks_as_json(const Manager& manager, TasksOfProgram& tasks) {
    std::map<std::int64_t, manager::status::PlaceOfTask> places;
    for (const WorkerSummary& worker : manager.workers())
        for (const DispatchedTask& task : worker.dispatched)
            places.try_emplace(task.id, manager::status::PlaceOfTask{worker.host, worker.address, task});
    std::sort(tasks.begin(), tasks.end(),
              [](const auto& a, const auto& b) { return a.second.id < b.second.id; });
    std::string all;
    for (auto& [id, task] : tasks) {
        task.state = manager.task_state(id);
        if (const auto place = places.find(id); place != places.end()) task.place = place->second;
        all += (all.empty() ? "" : ",") + manager::status::task_as_json(task);
    }
    return all;
}

std::string workers_as_json(const Manager& manager, const TasksOfProgram& tasks) {
    std::map<std::int64_t, const TaskOfStatus*> named;
    for (const auto& [id, task] : tasks) named.emplace(id, &task);
    const manager::status::NameTask name_task = [&](std::int64_t id) {
        const auto found = named.find(id);
        return found == named.end() ? std::nullopt : std::optional(*found->second);
    };
    std::string all;
    for (const WorkerSummary& worker : manager.workers())
        all += (all.empty() ? "" : ",") + manager::status::worker_as_json(worker, name_task);
    return all;
}

manager::status::RequestSums requests_of(const Manager& manager, const TasksOfProgram& tasks) {
    manager::status::RequestSums sums;
    for (const auto& [id, task] : tasks) {
        const TaskState state = manager.task_state(id);
        if (state != TaskState::ready && state != TaskState::running) continue;
        sums.cores += std::max(task.requested.cores, 0.0);
        sums.memory += static_cast<double>(std::max<std::int64_t>(task.requested.memory, 0));
        sums.disk += static_cast<double>(std::max<std::int64_t>(task.requested.disk, 0));
        sums.gpus += std::max(task.requested.gpus, 0.0);
    }
    return sums;
}

manager::status::QueueParts status_parts(const Manager& manager, manager::status::QueueOfStatus queue,
                                         const TasksOfProgram& tasks) {
    manager::status::QueueParts parts{
        std::move(queue), manager.stats(), {}, requests_of(manager, tasks), manager.blocked_hosts(), {}};
    for (const WorkerSummary& worker : manager.workers())
        if (worker.connected) parts.resources.add(worker);
    for (CategorySummary& one : manager.categories()) {
        Statistics stats = manager.stats_category(one.name);
        parts.categories.push_back({std::move(one), stats});
    }
    return parts;
}

}  // namespace

std::string status_as_json(net::messages::StatusOf what, const Manager& manager,
                           manager::status::QueueOfStatus queue, TasksOfProgram tasks) {
    switch (what) {
        case net::messages::StatusOf::tasks:
            return "[" + tasks_as_json(manager, tasks) + "]";
        case net::messages::StatusOf::workers:
            return "[" + workers_as_json(manager, tasks) + "]";
        case net::messages::StatusOf::categories:
            return "[" + manager::status::categories_as_json(status_parts(manager, std::move(queue), tasks)) +
                   "]";
        case net::messages::StatusOf::queue:
        case net::messages::StatusOf::shapes:
            break;
    }
    return "[" + manager::status::queue_as_json(status_parts(manager, std::move(queue), tasks)) + "]";
}

}  // namespace wq::api
