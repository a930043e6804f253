#include "manager/run/task_index.h"

#include <algorithm>
#include <iterator>

namespace wq::manager::run {

Result<std::unique_ptr<TaskIndex>> TaskIndex::read(const SourceSpec& spec) {
    std::unique_ptr<TaskIndex> index(new TaskIndex(spec));
    const auto known = read_tasks(spec, index->command_, index->tasks_);
    if (!known) return known.error();
    if (!*known) return std::unique_ptr<TaskIndex>();
    if (spec.kind == SourceSpec::Kind::array)
        index->index_parts(*engine::tasklist::IndexSet::parse(spec.indexes));
    else
        index->index_lines();
    return index;
}

void TaskIndex::index_lines() {
    lines_.reserve(tasks_.size());
    for (std::uint64_t task = 0; task < tasks_.size(); ++task)
        lines_.emplace_back(tasks_.key(TaskId(task)).value, task);
    std::sort(lines_.begin(), lines_.end());
}

void TaskIndex::index_parts(const engine::tasklist::IndexSet& indexes) {
    std::uint64_t task = 0;
    for (const engine::tasklist::IndexRange& range : indexes.ranges()) {
        parts_.push_back({range, task, 0});
        task += range.count();
    }
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.indexes.first < b.indexes.first; });
    std::uint64_t largest = 0;
    for (Part& part : parts_) part.largest = largest = std::max(largest, part.indexes.last);
}

std::optional<TaskId> TaskIndex::find(records::journal::TaskKey key) const {
    const auto line = std::lower_bound(lines_.begin(), lines_.end(), std::pair(key.value, std::uint64_t{0}));
    if (line != lines_.end() && line->first == key.value) return TaskId(line->second);
    // Parts may overlap ("1-9:2,2-8:2"): search backwards from the last part that begins before the index,
    // until no earlier part reaches it.
    auto part =
        std::upper_bound(parts_.begin(), parts_.end(), key.value,
                         [](std::uint64_t index, const Part& one) { return index < one.indexes.first; });
    while (part != parts_.begin() && (--part)->largest >= key.value) {
        const engine::tasklist::IndexRange& indexes = part->indexes;
        const std::uint64_t offset = key.value - indexes.first;
        if (key.value <= indexes.last && offset % indexes.step == 0)
            return TaskId(part->first_task + offset / indexes.step);
    }
    return std::nullopt;
}

}  // namespace wq::manager::run
