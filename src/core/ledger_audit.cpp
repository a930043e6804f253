// The ledger, recomputed from scratch. For tests.
#include "core/ledger.h"

namespace wq::core {

std::optional<std::string> Ledger::audit_task(TaskId task) const {
    const std::uint64_t id = task.value();
    const Attempted* record = find_attempted(task);
    const ReadyTasks& queues = ready(shape_of(task));
    int places = record != nullptr && record->leased ? 1 : 0;
    for (const IntervalSet* set :
         {&done_, &failed_, &skipped_, &cancelled_, &sealed_, &queues.fresh, &queues.again, &queues.suspects})
        places += set->contains(id) ? 1 : 0;
    if (places > 1) return "task " + std::to_string(id) + " is in " + std::to_string(places) + " states";
    if (record == nullptr) return std::nullopt;
    if (is_final(state(task))) return "task " + std::to_string(id) + " has ended and still has a record";
    if (queues.fresh.contains(id) ||
        queues.suspects.contains(id) != (state(task) == TaskState::ready && record->losses > 0))
        return "task " + std::to_string(id) + " is in the wrong queue";
    return std::nullopt;
}

std::optional<std::string> Ledger::audit_shape(ShapeId id) const {
    const ReadyTasks& queues = ready(id);
    const auto head = queues.next();
    const auto indexed = [&](const ReadyShapes& shapes) {
        return shapes.contains({head.value_or(TaskId()), id}) == head.has_value();
    };
    const std::string name = "shape " + std::to_string(id.value());
    if (shape(id).workers.empty() ? !indexed(ready_shapes_)
                                  : ready_shapes_.contains({head.value_or(TaskId()), id}))
        return name + " is not indexed by its head";
    for (const WorkerId worker : shape(id).workers)
        if (!indexed(ready_shapes_for(worker)))
            return name + " is not indexed for worker " + std::to_string(worker.value());
    if (suspect_shapes_.contains(id) == queues.suspects.empty())
        return name + " is not indexed by its suspects";
    return std::nullopt;
}

std::optional<std::string> Ledger::audit() const {
    std::uint64_t found[task_state_count] = {};
    for (std::uint64_t id = 0; id < size_; ++id) {
        if (auto wrong = audit_task(TaskId(id))) return wrong;
        ++found[static_cast<std::size_t>(state(TaskId(id)))];
    }
    for (int index = 0; index < task_state_count; ++index)
        if (found[index] != counts_[index])
            return std::string("count of ") + name_of(static_cast<TaskState>(index)) + " is " +
                   std::to_string(counts_[index]) + ", found " + std::to_string(found[index]);
    std::size_t heads = 0;
    for (std::uint32_t index = 0; index < shapes(); ++index) {
        if (auto wrong = audit_shape(ShapeId(index))) return wrong;
        if (ready(ShapeId(index)).next() && shape(ShapeId(index)).workers.empty()) ++heads;
    }
    if (heads != ready_shapes_.size()) return "there are too many heads of ready shapes";
    return std::nullopt;
}

}  // namespace wq::core
