#include "program_manager/queue_status.h"

namespace wq::program_manager {

status::TaskOfStatus named(std::int64_t id, const TaskData& task) {
    status::TaskOfStatus named;
    named.id = id;
    named.command = task.text_for_people();
    named.category = task.category;
    named.tag = task.tag;
    named.priority = task.priority;
    if (task.remote()) named.coprocess = task.specs->coprocess;
    if (task.specs) named.requested = task.specs->needs;
    return named;
}

void ProgramQueue::list(manager::Manager& manager) {
    manager_ = &manager;
    lister_.emplace(manager, *this);
    manager.list_by(*lister_);
}

core::ManagerStats ProgramQueue::stats() const {
    core::ManagerStats stats = recorder_.as_seen(manager_->stats());
    stats.time_when_started = started_.wall;
    return stats;
}

std::optional<status::TaskOfStatus> ProgramQueue::task(TaskId task) const {
    const auto id = static_cast<std::int64_t>(task.value()) + 1;
    if (const TaskData* const data = tasks_.find(task)) return named(id, *data);
    const RangeTask* const range = tasks_.range_of(task);
    if (range == nullptr) return std::nullopt;
    auto call = named(id, *range->data);
    call.command = range->data->text + "(" + std::to_string(range->index_of(task.value())) + ")";
    return call;
}

}  // namespace wq::program_manager
