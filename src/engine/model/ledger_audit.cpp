// Recomputes the ledger from scratch, for tests.
#include <algorithm>

#include "engine/model/ledger.h"

namespace wq::engine::model {

std::optional<std::string> Ledger::audit_task(TaskId task) const {
    const std::uint64_t id = task.value();
    const Attempted* record = find_attempted(task);
    const std::string name = "task " + std::to_string(id);
    const ReadyTasks& queues = ready(shape_of(task));
    const Times& when = times(task);
    const bool is_early = early_.contains(id);
    int places = record != nullptr && record->leased ? 1 : 0;
    for (const IntervalSet* set :
         {&done_, &failed_, &skipped_, &cancelled_, &sealed_, &early_, &queues.suspects})
        places += set->contains(id) ? 1 : 0;
    bool fresh = false;
    for (const auto& [of, queue] : queues.queues) {
        const bool there = queue.fresh.contains(id) || queue.again.contains(id);
        fresh = fresh || queue.fresh.contains(id);
        places += there ? 1 : 0;
        if (there && of != priority(task)) return name + " is in the queue of another priority";
    }
    if (places > 1) return name + " is in " + std::to_string(places) + " states";
    if (fresh && when.not_after) return name + " may be sealed though it has an end time";
    if (is_early && (!when.not_before || *when.not_before <= wall_)) return name + " waits for no time";
    const TaskState now = state(task);
    if (now == TaskState::ready && !is_early && when.not_before && *when.not_before > wall_)
        return name + " is ready before its time";
    if (is_early && !starting_.at(*when.not_before).contains(id)) return name + " has no start";
    if (when.not_after) {
        const auto at = expiring_.find(*when.not_after);
        const bool expires = at != expiring_.end() && at->second.contains(id);
        if (expires != (now == TaskState::blocked || now == TaskState::ready))
            return name + " has a wrong end";
    }
    if (record == nullptr) return std::nullopt;
    if (is_final(now)) return name + " has ended and still has a record";
    if (fresh || queues.suspects.contains(id) != (now == TaskState::ready && record->losses > 0))
        return name + " is in the wrong queue";
    return std::nullopt;
}

std::optional<std::string> Ledger::audit_shape(ShapeId id) const {
    const ReadyTasks& queues = ready(id);
    const auto first = head(id);
    const auto indexed = [&](const ReadyShapes& shapes) {
        const auto entries = std::count_if(shapes.begin(), shapes.end(),
                                           [&](const ReadyHead& each) { return each.shape == id; });
        return first ? entries == 1 && shapes.contains(*first) : entries == 0;
    };
    const std::string name = "shape " + std::to_string(id.value());
    for (const auto& [priority, queue] : queues.queues)
        if (queue.empty()) return name + " has an empty queue";
    if (shape(id).workers.empty() && !indexed(ready_shapes_)) return name + " is not indexed by its head";
    for (const WorkerId worker : shape(id).workers)
        if (!indexed(ready_shapes_for(worker)))
            return name + " is not indexed for worker " + std::to_string(worker.value());
    if (suspect_shapes_.contains(id) == queues.suspects.empty())
        return name + " is not indexed by its suspects";
    return std::nullopt;
}

std::optional<std::string> Ledger::audit() const {
    Counts found{};
    std::vector<Counts> by_category(category_counts_.size());
    for (std::uint64_t id = 0; id < size_; ++id) {
        if (auto wrong = audit_task(TaskId(id))) return wrong;
        const auto index = static_cast<std::size_t>(state(TaskId(id)));
        ++found[index];
        ++by_category[shape(shape_of(TaskId(id))).category.value()][index];
    }
    if (by_category != category_counts_) return "the counts of a category are wrong";
    for (std::size_t index = 0; index < task_state_count; ++index)
        if (found[index] != counts_[index])
            return std::string("count of ") + name_of(static_cast<TaskState>(index)) + " is " +
                   std::to_string(counts_[index]) + ", found " + std::to_string(found[index]);
    std::size_t heads = 0;
    for (std::uint32_t index = 0; index < shapes(); ++index) {
        if (auto wrong = audit_shape(ShapeId(index))) return wrong;
        if (ready(ShapeId(index)).next() && shape(ShapeId(index)).workers.empty()) ++heads;
    }
    if (heads != ready_shapes_.size()) return "there are too many heads of ready shapes";
    std::uint64_t starting = 0;
    for (const auto& [at, tasks] : starting_) starting += tasks.count();
    if (starting != early_.count()) return "there are too many starts";
    return std::nullopt;
}

}  // namespace wq::engine::model
