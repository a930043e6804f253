#include "core/ledger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace wq::core {

namespace {

// Adjacent ranges of one shape submitted within this time are kept as one; the submission time of the later
// ones is then early by at most this much.
constexpr WallMicros same_submission_us = 1'000'000;

[[noreturn]] void illegal(std::uint64_t task, TaskState state, TaskEvent event) {
    std::fprintf(stderr, "bug: task %llu cannot %s while %s\n", static_cast<unsigned long long>(task),
                 name_of(event), name_of(state));
    std::abort();
}

std::optional<TaskId> first_of(const IntervalSet& set) {
    const auto front = set.front();
    if (!front) return std::nullopt;
    return TaskId(front->first);
}

}  // namespace

std::optional<TaskId> ReadyTasks::next() const {
    const auto a = first_of(fresh);
    const auto b = first_of(again);
    return a && b ? std::min(*a, *b) : a ? a : b;
}

std::optional<TaskId> ReadyTasks::next_suspect() const {
    return first_of(suspects);
}

ShapeId Ledger::intern(const Shape& shape) {
    // Lists change shape rarely: the last one is nearly always the one.
    if (!ranges_.empty() && shapes_[ranges_.back().shape.value()].shape == shape) return ranges_.back().shape;
    const auto [found, added] = shape_ids_.try_emplace(shape, shapes());
    if (added) shapes_.push_back({shape, {}});
    return found->second;
}

ShapeId Ledger::add(const TaskRange& range, WallMicros submitted) {
    const ShapeId shape = intern(range.shape);
    const std::uint64_t end = size_ + range.count;
    if (!ranges_.empty() && ranges_.back().shape == shape &&
        submitted - ranges_.back().submitted < same_submission_us)
        ranges_.back().end = end;
    else
        ranges_.push_back({size_, end, shape, submitted});
    size_ = end;
    counts_[static_cast<std::size_t>(TaskState::blocked)] += range.count;
    return shape;
}

const Ledger::RangeInfo& Ledger::range_of(TaskId task) const {
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), task.value(),
                         [](std::uint64_t value, const RangeInfo& range) { return value < range.first; });
    return *std::prev(after);
}

const Attempted* Ledger::find_attempted(TaskId task) const {
    const auto found = attempted_.find(task);
    return found == attempted_.end() ? nullptr : &found->second;
}

TaskState Ledger::state(TaskId task) const {
    if (const Attempted* record = find_attempted(task); record != nullptr && record->leased)
        return TaskState::leased;
    const std::uint64_t id = task.value();
    if (done_.contains(id)) return TaskState::done;
    if (sealed_.contains(id)) return TaskState::sealed;
    const ReadyTasks& queues = ready(shape_of(task));
    if (queues.fresh.contains(id) || queues.again.contains(id) || queues.suspects.contains(id))
        return TaskState::ready;
    if (failed_.contains(id)) return TaskState::failed;
    if (skipped_.contains(id)) return TaskState::skipped;
    if (cancelled_.contains(id)) return TaskState::cancelled;
    return TaskState::blocked;
}

const ReadyShapes& Ledger::ready_shapes_for(WorkerId worker) const {
    static const ReadyShapes no_shapes;
    const auto found = pinned_.find(worker);
    return found == pinned_.end() ? no_shapes : found->second;
}

std::vector<ShapeId> Ledger::take_awakened() {
    return std::exchange(awakened_, {});
}

void Ledger::set_ready(Interval tasks, bool ready) {
    while (tasks.first < tasks.end) {
        const RangeInfo& range = range_of(TaskId(tasks.first));
        const Interval part{tasks.first, std::min(tasks.end, range.end)};
        set_ready(part, range.shape, ready);
        tasks.first = part.end;
    }
}

void Ledger::set_ready(Interval part, ShapeId shape, bool ready) {
    ReadyTasks& queues = shapes_[shape.value()].ready;
    const Attempted* history = part.size() == 1 ? find_attempted(TaskId(part.first)) : nullptr;
    IntervalSet& queue = history == nullptr    ? queues.fresh
                         : history->losses > 0 ? queues.suspects
                                               : queues.again;
    const auto before = queues.next();
    const bool suspects_before = !queues.suspects.empty();
    if (ready)
        queue.insert(part);
    else
        queue.erase(part);
    const auto after = queues.next();
    const bool suspects_after = !queues.suspects.empty();
    if (before != after) move_head(shape, before, after);
    if (suspects_before && !suspects_after) suspect_shapes_.erase(shape);
    if (!suspects_before && suspects_after) suspect_shapes_.insert(shape);
    if ((!before && after) || (!suspects_before && suspects_after)) awakened_.push_back(shape);
}

void Ledger::move_head(ShapeId shape, std::optional<TaskId> before, std::optional<TaskId> after) {
    const auto move_in = [&](ReadyShapes& shapes) {
        if (before) shapes.erase({*before, shape});
        if (after) shapes.insert({*after, shape});
    };
    const std::vector<WorkerId>& workers = shapes_[shape.value()].shape.workers;
    if (workers.empty()) move_in(ready_shapes_);
    for (const WorkerId worker : workers) move_in(pinned_[worker]);
}

void Ledger::leave(Interval tasks, TaskState state) {
    counts_[static_cast<std::size_t>(state)] -= tasks.size();
    if (state == TaskState::ready) set_ready(tasks, false);
    if (state == TaskState::leased) attempted(TaskId(tasks.first)).leased = false;
    if (state == TaskState::sealed) sealed_.erase(tasks);
}

void Ledger::enter(Interval tasks, TaskState state) {
    counts_[static_cast<std::size_t>(state)] += tasks.size();
    switch (state) {
        case TaskState::blocked:
            break;
        case TaskState::ready:
            set_ready(tasks, true);
            break;
        case TaskState::leased:
            attempted(TaskId(tasks.first)).leased = true;
            break;
        case TaskState::sealed:
            sealed_.insert(tasks);
            break;
        case TaskState::done:
            done_.insert(tasks);
            break;
        case TaskState::failed:
            failed_.insert(tasks);
            break;
        case TaskState::skipped:
            skipped_.insert(tasks);
            break;
        case TaskState::cancelled:
            cancelled_.insert(tasks);
            break;
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
    if (tasks.size() == 1) return change(TaskId(tasks.first), event);
    const TaskState from = state(TaskId(tasks.first));
    const auto to = next_state(from, event);
    if (!to || from == TaskState::leased || *to == TaskState::leased) illegal(tasks.first, from, event);
    leave(tasks, from);
    enter(tasks, *to);
}

IntervalSet Ledger::unended(const IntervalSet& tasks) const {
    IntervalSet left = tasks;
    for (const IntervalSet* ended : {&done_, &failed_, &skipped_, &cancelled_})
        tasks.for_each(
            [&](Interval part) { ended->for_each_in(part, [&](Interval range) { left.erase(range); }); });
    return left;
}

}  // namespace wq::core
