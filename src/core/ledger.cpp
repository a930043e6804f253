#include "core/ledger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace wq::core {

namespace {

// Adjacent ranges of one shape submitted within this time are kept as one; the submission time of the later ones is
// then early by at most this much.
constexpr WallMicros same_submission_us = 1'000'000;

[[noreturn]] void illegal(std::uint64_t task, TaskState state, TaskEvent event) {
    std::fprintf(stderr, "bug: task %llu cannot %s while %s\n", static_cast<unsigned long long>(task), name_of(event),
                 name_of(state));
    std::abort();
}

}  // namespace

ShapeId Ledger::intern(const Shape& shape) {
    // Lists change shape rarely: the last one is nearly always the one.
    if (!ranges_.empty() && shapes_[ranges_.back().shape.value()].shape == shape) return ranges_.back().shape;
    const auto [found, added] = shape_ids_.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
    if (added) shapes_.push_back({shape, {}});
    return found->second;
}

ShapeId Ledger::add(const TaskRange& range, WallMicros submitted) {
    const ShapeId shape = intern(range.shape);
    const std::uint64_t end = size_ + range.count;
    if (!ranges_.empty() && ranges_.back().shape == shape && submitted - ranges_.back().submitted < same_submission_us)
        ranges_.back().end = end;
    else
        ranges_.push_back({size_, end, shape, submitted});
    size_ = end;
    counts_[static_cast<std::size_t>(TaskState::blocked)] += range.count;
    return shape;
}

std::vector<Ledger::RangeInfo>::const_iterator Ledger::find_range(std::uint64_t id) const {
    return std::prev(std::upper_bound(ranges_.begin(), ranges_.end(), id, [](std::uint64_t value, const RangeInfo& range) {
        return value < range.first;
    }));
}

ShapeId Ledger::shape_of(TaskId task) const { return range_of(task).shape; }
WallMicros Ledger::submitted(TaskId task) const { return range_of(task).submitted; }

TaskState Ledger::state(TaskId task) const {
    const std::uint64_t id = task.value();
    if (done_.contains(id)) return TaskState::done;
    if (leased_.contains(task)) return TaskState::leased;
    if (suspects_.contains(task) || ready(shape_of(task)).contains(id)) return TaskState::ready;
    if (sealed_.contains(id)) return TaskState::sealed;
    if (failed_.contains(id)) return TaskState::failed;
    if (skipped_.contains(id)) return TaskState::skipped;
    return TaskState::blocked;
}

void Ledger::set_ready(Interval tasks, bool ready) {
    while (tasks.first < tasks.end) {
        const TaskId task(tasks.first);
        const RangeInfo& range = range_of(task);
        const Interval part{tasks.first, std::min(tasks.end, range.end)};
        tasks.first = part.end;
        const Attempted* history = part.size() == 1 ? find_attempted(task) : nullptr;
        if (history != nullptr && history->losses > 0) {
            if (ready)
                suspects_.insert(task);
            else
                suspects_.erase(task);
            continue;
        }
        IntervalSet& set = shapes_[range.shape.value()].ready;
        const auto before = set.front();
        if (ready)
            set.insert(part);
        else
            set.erase(part);
        const auto after = set.front();
        if (before && after && before->first == after->first) continue;
        if (before) ready_shapes_.erase({before->first, range.shape});
        if (after) ready_shapes_.insert({after->first, range.shape});
    }
}

void Ledger::leave(Interval tasks, TaskState state) {
    counts_[static_cast<std::size_t>(state)] -= tasks.size();
    switch (state) {
        case TaskState::ready: set_ready(tasks, false); break;
        case TaskState::leased: leased_.erase(TaskId(tasks.first)); break;
        case TaskState::sealed: sealed_.erase(tasks); break;
        case TaskState::blocked: break;
        case TaskState::done:
        case TaskState::failed:
        case TaskState::skipped: break;
    }
}

void Ledger::enter(Interval tasks, TaskState state) {
    counts_[static_cast<std::size_t>(state)] += tasks.size();
    switch (state) {
        case TaskState::ready: set_ready(tasks, true); break;
        case TaskState::leased: leased_.insert(TaskId(tasks.first)); break;
        case TaskState::sealed: sealed_.insert(tasks); break;
        case TaskState::done: done_.insert(tasks); break;
        case TaskState::failed: failed_.insert(tasks); break;
        case TaskState::skipped: skipped_.insert(tasks); break;
        case TaskState::blocked: break;
    }
    if (is_final(state) && tasks.size() == 1) attempted_.erase(TaskId(tasks.first));
}

void Ledger::change(TaskId task, TaskEvent event) {
    const TaskState from = state(task);
    const auto to = next_state(from, event);
    if (!to) illegal(task.value(), from, event);
    const Interval one{task.value(), task.value() + 1};
    leave(one, from);
    if (event == TaskEvent::lose) ++attempted(task).losses;
    if (event == TaskEvent::retry) ++attempted(task).failures;
    enter(one, *to);
}

void Ledger::change(Interval tasks, TaskEvent event) {
    if (tasks.size() == 0) return;
    const TaskState from = state(TaskId(tasks.first));
    const auto to = next_state(from, event);
    if (!to || from == TaskState::leased) illegal(tasks.first, from, event);
    leave(tasks, from);
    enter(tasks, *to);
}

Attempted& Ledger::attempted(TaskId task) { return attempted_[task]; }

const Attempted* Ledger::find_attempted(TaskId task) const {
    const auto found = attempted_.find(task);
    return found == attempted_.end() ? nullptr : &found->second;
}

IntervalSet Ledger::blocked_part(Interval tasks) const {
    IntervalSet part;
    if (tasks.first >= tasks.end) return part;
    part.insert(tasks);
    const auto remove = [&](const IntervalSet& set) { set.for_each_in(tasks, [&](Interval range) { part.erase(range); }); };
    remove(done_);
    remove(failed_);
    remove(skipped_);
    remove(sealed_);
    for (auto range = find_range(tasks.first); range != ranges_.end() && range->first < tasks.end; ++range)
        remove(ready(range->shape));
    const auto remove_ids = [&](const std::set<TaskId>& ids) {
        for (auto it = ids.lower_bound(TaskId(tasks.first)); it != ids.end() && it->value() < tasks.end; ++it)
            part.erase(it->value());
    };
    remove_ids(leased_);
    remove_ids(suspects_);
    return part;
}

std::optional<std::string> Ledger::audit() const {
    std::uint64_t found[task_state_count] = {};
    for (std::uint64_t id = 0; id < size_; ++id) {
        const TaskId task(id);
        const int memberships = static_cast<int>(done_.contains(id)) + static_cast<int>(failed_.contains(id)) +
                                static_cast<int>(skipped_.contains(id)) + static_cast<int>(sealed_.contains(id)) +
                                static_cast<int>(leased_.contains(task)) + static_cast<int>(suspects_.contains(task)) +
                                static_cast<int>(ready(shape_of(task)).contains(id));
        if (memberships > 1) return "task " + std::to_string(id) + " is in " + std::to_string(memberships) + " states";
        ++found[static_cast<std::size_t>(state(task))];
        if (leased_.contains(task) && find_attempted(task) == nullptr)
            return "leased task " + std::to_string(id) + " has no record";
    }
    for (int index = 0; index < task_state_count; ++index)
        if (found[index] != counts_[index])
            return std::string("count of ") + name_of(static_cast<TaskState>(index)) + " is " +
                   std::to_string(counts_[index]) + ", found " + std::to_string(found[index]);
    for (std::uint32_t index = 0; index < shapes_.size(); ++index) {
        const auto front = shapes_[index].ready.front();
        if (front && !ready_shapes_.contains({front->first, ShapeId(index)}))
            return "shape " + std::to_string(index) + " is missing among the ready";
    }
    return std::nullopt;
}

}  // namespace wq::core
