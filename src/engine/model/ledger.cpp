// Recomputes the ledger from scratch, for tests.

#include "engine/model/ledger.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace wq::engine::model {

namespace {

using S = TaskState;
using E = TaskEvent;

struct Arrow {
    TaskState from;
    TaskEvent event;
    TaskState to;
};

constexpr std::array arrows{
    Arrow{S::blocked, E::unblock, S::ready},    Arrow{S::blocked, E::skip, S::skipped},
    Arrow{S::blocked, E::resume_done, S::done}, Arrow{S::blocked, E::resume_failed, S::failed},
    Arrow{S::ready, E::lease, S::leased},       Arrow{S::ready, E::seal, S::sealed},
    Arrow{S::ready, E::skip, S::skipped},       Arrow{S::leased, E::succeed, S::done},
    Arrow{S::leased, E::fail, S::failed},       Arrow{S::leased, E::retry, S::ready},
    Arrow{S::leased, E::give_back, S::ready},   Arrow{S::leased, E::lose, S::ready},
    Arrow{S::sealed, E::succeed, S::done},      Arrow{S::sealed, E::fail, S::failed},
    Arrow{S::sealed, E::retry, S::ready},       Arrow{S::sealed, E::give_back, S::ready},
    Arrow{S::sealed, E::lose, S::ready},        Arrow{S::blocked, E::cancel, S::cancelled},
    Arrow{S::ready, E::cancel, S::cancelled},   Arrow{S::leased, E::cancel, S::cancelled},
    Arrow{S::sealed, E::cancel, S::cancelled},  Arrow{S::blocked, E::expire, S::failed},
    Arrow{S::ready, E::expire, S::failed},      Arrow{S::leased, E::exhaust, S::ready},
    Arrow{S::sealed, E::exhaust, S::ready},     Arrow{S::leased, E::abort, S::ready},
};

constexpr auto make_table() {
    std::array<std::array<std::int8_t, task_event_count>, task_state_count> table{};
    for (auto& row : table) row.fill(-1);
    for (const Arrow& arrow : arrows)
        table[static_cast<std::size_t>(arrow.from)][static_cast<std::size_t>(arrow.event)] =
            static_cast<std::int8_t>(arrow.to);
    return table;
}
constexpr auto table = make_table();

}  // namespace

std::optional<TaskState> next_state(TaskState state, TaskEvent event) {
    const std::int8_t to = table[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
    if (to < 0) return std::nullopt;
    return static_cast<TaskState>(to);
}

const char* name_of(TaskState state) {
    constexpr std::array names{"blocked", "ready",  "leased",  "sealed",
                               "done",    "failed", "skipped", "cancelled"};
    static_assert(names.size() == task_state_count);
    return names[static_cast<std::size_t>(state)];
}

const char* name_of(TaskEvent event) {
    constexpr std::array names{"unblock", "lease",       "seal",          "succeed", "fail",
                               "retry",   "give_back",   "lose",          "exhaust", "abort",
                               "skip",    "resume_done", "resume_failed", "cancel",  "expire"};
    static_assert(names.size() == task_event_count);
    return names[static_cast<std::size_t>(event)];
}

std::string diagram() {
    std::string text = "digraph task {\n  rankdir=LR;\n";
    for (int state = 0; state < task_state_count; ++state) {
        const auto value = static_cast<TaskState>(state);
        text += std::string("  ") + name_of(value) +
                (is_final(value) ? " [shape=doublecircle];\n" : " [shape=circle];\n");
    }
    for (const Arrow& arrow : arrows)
        text += std::string("  ") + name_of(arrow.from) + " -> " + name_of(arrow.to) + " [label=\"" +
                name_of(arrow.event) + "\"];\n";
    return text + "}\n";
}

namespace {

// Adjacent ranges of one shape that are submitted within this time become one; the later ones' submission
// time is then too early by at most this.
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

std::optional<TaskId> ReadyQueue::next() const {
    const auto a = first_of(fresh);
    const auto b = first_of(again);
    return a && b ? std::min(*a, *b) : a ? a : b;
}

// There may be many combinations of priority and times, but few other shapes.
ShapeId Ledger::intern(Shape shape) {
    shape.priority = 0;
    shape.not_before.reset();
    shape.not_after.reset();
    shape.max_tries = 0;
    std::sort(shape.features.begin(), shape.features.end());
    shape.features.erase(std::unique(shape.features.begin(), shape.features.end()), shape.features.end());
    // Lists change shape rarely, so the last one usually matches.
    if (!ranges_.empty() && shapes_[ranges_.back().shape.value()].shape == shape) return ranges_.back().shape;
    const auto [found, added] = shape_ids_.try_emplace(shape, shapes());
    if (added) shapes_.push_back({std::move(shape), {}});
    return found->second;
}

std::uint32_t Ledger::intern(const Times& times) {
    if (times == Times{}) return 0;
    if (times_.back() != times) times_.push_back(times);
    return static_cast<std::uint32_t>(times_.size() - 1);
}

void Ledger::reshape(TaskId task, Shape shape) {
    attempted(task).reshaped = intern(std::move(shape));
    some_reshaped_ = true;
}

ShapeId Ledger::shape_of(TaskId task) const {
    const Attempted* const record = some_reshaped_ ? find_attempted(task) : nullptr;
    return record != nullptr && record->reshaped ? *record->reshaped : range_of(task).shape;
}

ShapeId Ledger::add(const TaskRange& range, WallMicros submitted) {
    const ShapeId shape = intern(range.shape);
    const std::uint32_t times = intern({range.shape.not_before, range.shape.not_after});
    const double priority = std::isnan(range.shape.priority) ? 0 : range.shape.priority;
    const std::size_t category = range.shape.category.value();
    if (category >= category_counts_.size()) category_counts_.resize(category + 1);
    const std::uint64_t end = size_ + range.count;
    const bool alike = !ranges_.empty() && ranges_.back().shape == shape &&
                       ranges_.back().priority == priority && ranges_.back().times == times &&
                       ranges_.back().max_tries == range.shape.max_tries;
    if (alike && submitted - ranges_.back().submitted < same_submission_us)
        ranges_.back().end = end;
    else
        ranges_.push_back({size_, end, submitted, priority, shape, times, range.shape.max_tries});
    const Interval tasks{size_, end};
    size_ = end;
    count_move(tasks, TaskState::blocked, Move::in);
    move_expiring(tasks, Move::in);
    return shape;
}

const Ledger::RangeInfo& Ledger::range_of(TaskId task) const {
    const RangeInfo& last = ranges_[last_range_];
    if (task.value() >= last.first && task.value() < last.end) return last;
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), task.value(),
                         [](std::uint64_t value, const RangeInfo& range) { return value < range.first; });
    last_range_ = static_cast<std::size_t>(after - ranges_.begin()) - 1;
    return ranges_[last_range_];
}

void Ledger::count_move(Interval tasks, TaskState state, Move move) {
    const auto index = static_cast<std::size_t>(state);
    const auto add = [&](Counts& counts, std::uint64_t tasks_of_it) {
        counts[index] += move == Move::in ? tasks_of_it : -tasks_of_it;
    };
    add(counts_, tasks.size());
    for_each_range(tasks, [&](Interval part, const RangeInfo& range) {
        add(category_counts_[shape(range.shape).category.value()], part.size());
    });
}

std::uint64_t Ledger::count(CategoryId category, TaskState state) const {
    if (category.value() >= category_counts_.size()) return 0;
    return category_counts_[category.value()][static_cast<std::size_t>(state)];
}

Attempted& Ledger::attempted(TaskId task) {
    const auto [known, is_new] = attempted_.try_emplace(task);
    if (is_new) {
        known->second.ready_us = first_ready(task);
        unblocked_.erase({task.value(), task.value() + 1});
    }
    return known->second;
}

WallMicros Ledger::ready_since(TaskId task) const {
    const Attempted* const record = find_attempted(task);
    return record != nullptr ? record->ready_us : first_ready(task);
}

WallMicros Ledger::first_ready(TaskId task) const {
    const RangeInfo& range = range_of(task);
    const WallMicros since = unblocked_.find(task.value()).value_or(range.submitted);
    return std::max(since, times_[range.times].not_before.value_or(since));
}

const Attempted* Ledger::find_attempted(TaskId task) const {
    const auto found = attempted_.find(task);
    return found == attempted_.end() ? nullptr : &found->second;
}

std::vector<TaskId> Ledger::attempted_in(Interval tasks) const {
    std::vector<TaskId> found;
    if (tasks.size() <= attempted_.size()) {
        for (std::uint64_t id = tasks.first; id < tasks.end; ++id)
            if (attempted_.contains(TaskId(id))) found.emplace_back(id);
        return found;
    }
    for (const auto& [task, record] : attempted_)
        if (task.value() >= tasks.first && task.value() < tasks.end) found.push_back(task);
    std::sort(found.begin(), found.end());
    return found;
}

TaskState Ledger::state(TaskId task) const {
    if (const Attempted* record = find_attempted(task); record != nullptr && record->leased)
        return TaskState::leased;
    const std::uint64_t id = task.value();
    if (done_.contains(id)) return TaskState::done;
    if (sealed_.contains(id)) return TaskState::sealed;
    const ReadyTasks& queues = ready(shape_of(task));
    if (queues.suspects.contains(id)) return TaskState::ready;
    if (const auto queue = queues.queues.find(priority(task)); queue != queues.queues.end())
        if (queue->second.fresh.contains(id) || queue->second.again.contains(id)) return TaskState::ready;
    if (early_.contains(id)) return TaskState::ready;
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

std::vector<ShapeId> Ledger::some_ready_shapes(std::size_t most) const {
    std::set<ShapeId> found;
    const auto take = [&](const auto& shapes, auto shape_in) {
        for (auto it = shapes.begin(); it != shapes.end() && found.size() < most; ++it)
            found.insert(shape_in(*it));
    };
    const auto of_head = [](const ReadyHead& head) { return head.shape; };
    take(ready_shapes_, of_head);
    take(suspect_shapes_, [](ShapeId shape) { return shape; });
    for (const auto& [worker, shapes] : pinned_) take(shapes, of_head);
    return {found.begin(), found.end()};
}

std::vector<ShapeId> Ledger::take_awakened() {
    return std::exchange(awakened_, {});
}

std::optional<ReadyHead> Ledger::head(ShapeId shape) const {
    const auto& queues = ready(shape).queues;
    if (queues.empty()) return std::nullopt;
    return ReadyHead{queues.begin()->first, *queues.begin()->second.next(), shape};
}

void Ledger::move_ready(Interval tasks, Move move) {
    for_each_range(tasks, [&](Interval part, const RangeInfo& range) { move_ready(part, range, move); });
}

void Ledger::move_ready(Interval part, const RangeInfo& range, Move move) {
    const auto put = [&](IntervalSet& set) { move == Move::in ? set.insert(part) : set.erase(part); };
    const Times& times = times_[range.times];
    if (times.not_before && *times.not_before > wall_) {
        const auto at = starting_.try_emplace(*times.not_before).first;
        put(early_);
        put(at->second);
        if (at->second.empty()) starting_.erase(at);
        return;
    }
    const Attempted* history = part.size() == 1 ? find_attempted(TaskId(part.first)) : nullptr;
    const ShapeId shape = history != nullptr && history->reshaped ? *history->reshaped : range.shape;
    ReadyTasks& tasks = shapes_[shape.value()].ready;
    const bool suspects_before = !tasks.suspects.empty();
    const auto before = head(shape);
    if (history != nullptr && history->losses > 0) {
        put(tasks.suspects);
    } else {
        tasks.others += move == Move::in ? part.size() : -part.size();
        const auto queue = tasks.queues.try_emplace(range.priority).first;
        put(history != nullptr || times.not_after ? queue->second.again : queue->second.fresh);
        if (queue->second.empty()) tasks.queues.erase(queue);
    }
    const bool suspects_after = !tasks.suspects.empty();
    const auto after = head(shape);
    if (before != after) move_head(shape, before, after);
    if (suspects_before && !suspects_after) suspect_shapes_.erase(shape);
    if (!suspects_before && suspects_after) suspect_shapes_.insert(shape);
    const bool wakes = move == Move::in && shapes_[shape.value()].wakes == Wakes::each;
    // Tasks that already wait may be behind higher-priority tasks elsewhere.
    const bool more_urgent = before && after && after->priority > before->priority;
    if (wakes || more_urgent || (!before && after) || (!suspects_before && suspects_after))
        awakened_.push_back(shape);
}

void Ledger::move_head(ShapeId shape, std::optional<ReadyHead> before, std::optional<ReadyHead> after) {
    const auto move_in = [&](ReadyShapes& shapes) {
        if (before) shapes.erase(*before);
        if (after) shapes.insert(*after);
    };
    const std::vector<WorkerId>& workers = shapes_[shape.value()].shape.workers;
    if (workers.empty()) move_in(ready_shapes_);
    for (const WorkerId worker : workers) move_in(pinned_[worker]);
}

void Ledger::leave(Interval tasks, TaskState state) {
    count_move(tasks, state, Move::out);
    if (state == TaskState::ready) move_ready(tasks, Move::out);
    if (state == TaskState::leased) attempted(TaskId(tasks.first)).leased = false;
    if (state == TaskState::sealed) sealed_.erase(tasks);
    if (state == TaskState::ready || state == TaskState::blocked) move_expiring(tasks, Move::out);
}

void Ledger::enter(Interval tasks, TaskState state) {
    count_move(tasks, state, Move::in);
    switch (state) {
        case TaskState::blocked:
            break;
        case TaskState::ready:
            move_ready(tasks, Move::in);
            move_expiring(tasks, Move::in);
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

// Tasks of a batch that come back unclaimed had no attempt: they were ready all the time.
void Ledger::note_ready(Interval tasks, TaskState from, TaskState to) {
    if (is_final(to)) return unblocked_.erase(tasks);
    if (to != TaskState::ready) return;
    if (from == TaskState::blocked) return unblocked_.insert(tasks);
    if (tasks.size() > 1) return;
    if (const auto record = attempted_.find(TaskId(tasks.first)); record != attempted_.end())
        record->second.ready_us = unblocked_.now();
}

void Ledger::change(TaskId task, TaskEvent event) {
    const TaskState from = state(task);
    const auto to = next_state(from, event);
    if (!to) illegal(task.value(), from, event);
    const Interval one{task.value(), task.value() + 1};
    leave(one, from);
    if (event == TaskEvent::lose) ++attempted(task).losses;
    if (event == TaskEvent::retry) ++attempted(task).failures;
    if (event == TaskEvent::exhaust) ++attempted(task).exhausted;
    if (event == TaskEvent::abort) ++attempted(task).aborted;
    note_ready(one, from, *to);
    enter(one, *to);
}

void Ledger::change(Interval tasks, TaskEvent event) {
    if (tasks.size() == 0) return;
    if (tasks.size() == 1) return change(TaskId(tasks.first), event);
    const TaskState from = state(TaskId(tasks.first));
    const auto to = next_state(from, event);
    if (!to || from == TaskState::leased || *to == TaskState::leased) illegal(tasks.first, from, event);
    leave(tasks, from);
    note_ready(tasks, from, *to);
    enter(tasks, *to);
}

IntervalSet Ledger::ready_in(const IntervalSet& tasks) const {
    IntervalSet all;
    const auto add = [&](const IntervalSet& from, Interval part) {
        from.for_each_in(part, [&](Interval one) { all.insert(one); });
    };
    tasks.for_each([&](Interval wanted) {
        for_each_range(wanted, [&](Interval part, const RangeInfo& range) {
            add(early_, part);
            const auto& queues = ready(range.shape).queues;
            const auto queue = queues.find(range.priority);
            if (queue == queues.end()) return;
            add(queue->second.fresh, part);
            add(queue->second.again, part);
        });
    });
    return all;
}

void Ledger::cancel_fresh(Interval tasks) {
    IntervalSet all;
    all.insert(tasks);
    IntervalSet blocked = unended(all);
    const auto remove = [&](Interval part) { blocked.erase(part); };
    sealed_.for_each_in(tasks, remove);
    for (const TaskId task : attempted_in(tasks)) blocked.erase(task.value());
    const IntervalSet ready = ready_in(blocked);
    ready.for_each(remove);
    for (const IntervalSet* state : {&ready, &std::as_const(blocked)})
        state->for_each([&](Interval part) { change(part, TaskEvent::cancel); });
}

IntervalSet Ledger::unended(const IntervalSet& tasks) const {
    IntervalSet left = tasks;
    for (const IntervalSet* ended : {&done_, &failed_, &skipped_, &cancelled_})
        tasks.for_each(
            [&](Interval part) { ended->for_each_in(part, [&](Interval range) { left.erase(range); }); });
    return left;
}

// Tasks with a start or end time are ordered by that time, so a tick costs only what it changes.

void Ledger::move_expiring(Interval tasks, Move move) {
    if (times_.size() == 1) return;  // no task has times
    for_each_range(tasks, [&](Interval part, const RangeInfo& range) {
        const Times& times = times_[range.times];
        if (!times.not_after) return;
        const auto at = expiring_.try_emplace(*times.not_after).first;
        move == Move::in ? at->second.insert(part) : at->second.erase(part);
        if (at->second.empty()) expiring_.erase(at);
    });
}

void Ledger::advance(WallMicros wall) {
    wall_ = std::max(wall_, wall);
    unblocked_.begin_event(wall, size_);
    while (!starting_.empty() && starting_.begin()->first <= wall_) {
        const auto started = starting_.extract(starting_.begin());
        started.mapped().for_each([&](Interval part) { early_.erase(part); });
        started.mapped().for_each([&](Interval part) { move_ready(part, Move::in); });
    }
}

std::optional<WallMicros> Ledger::next_time() const {
    std::optional<WallMicros> next;
    for (const auto* index : {&starting_, &expiring_})
        if (!index->empty()) next = std::min(next.value_or(index->begin()->first), index->begin()->first);
    return next;
}

IntervalSet Ledger::expired() const {
    if (expiring_.empty() || expiring_.begin()->first > wall_) return {};
    return expiring_.begin()->second;
}

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
    if (unblocked_.find(id) && (record != nullptr || (now != TaskState::ready && now != TaskState::sealed)))
        return name + " still has a time at which it was unblocked";
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
    std::uint64_t others = 0;
    for (const auto& [priority, queue] : queues.queues) {
        if (queue.empty()) return name + " has an empty queue";
        others += queue.fresh.count() + queue.again.count();
    }
    if (others != queues.others) return name + " has a wrong number of ready tasks";
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
    if (auto wrong = unblocked_.audit(wall_)) return wrong;
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
