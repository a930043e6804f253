#include "api/queue_status.h"

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

}  // namespace wq::api
