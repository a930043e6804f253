// Every task of the run and its state. What tasks have in common is kept per range of ids, what has ended as
// sets of ranges; only a task that is out with a worker, or has a history, costs a record of its own. So a
// million waiting tasks of one shape cost as much as one, and 10^8 items of an array cost nothing until they
// have results.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "core/lifecycle.h"
#include "core/pace.h"
#include "core/task.h"

namespace wq::core {

using ShapeId = Id<struct ShapeTag, std::uint32_t>;

// A task that is out with a worker, or was.
struct Attempted {
    Attempt attempt = 0;          // the present or last one
    std::uint32_t failures = 0;   // by itself
    std::uint32_t losses = 0;     // with its worker
    std::uint32_t exhausted = 0;  // of what it was given, where it had not said how much it needs
    std::uint32_t aborted = 0;    // as it took too long
    Attempt last = 0;             // the highest that was given out, also of a copy
    bool leased = false;
    bool told_to_end = false;  // as it takes too long
    bool by_ticket = false;    // the present or last attempt was claimed, not leased
    WorkerId worker;           // holds it while leased
    Resources given;
    WallMicros dispatched_us = 0;
    Instant since;                 // leased
    std::optional<PaceMark> pace;  // while it is leased and timed

    std::optional<PaceMark> straggling;  // the same, for a copy
    std::optional<ShapeId> reshaped;     // asks for more than its range does

    Attempt next() const { return std::max(attempt, last) + 1; }
    // What counts for the task's own limit of tries: all that was no fault of its own.
    std::uint32_t spent() const { return losses + exhausted + aborted; }
};

// When a task may be out, by the wall clock.
struct Times {
    std::optional<WallMicros> not_before;
    std::optional<WallMicros> not_after;
    auto operator<=>(const Times&) const = default;
};

// Ready tasks of one shape and priority.
struct ReadyQueue {
    IntervalSet fresh;  // never given out: may be sealed
    IntervalSet again;  // given out before, or with an end time: only leased

    std::optional<TaskId> next() const;  // the lowest
    bool empty() const { return fresh.empty() && again.empty(); }
};

// The next task of a shape; in order of urgency.
struct ReadyHead {
    double priority = 0;
    TaskId task;
    ShapeId shape;

    friend bool operator<(const ReadyHead& a, const ReadyHead& b) {
        if (a.priority != b.priority) return a.priority > b.priority;
        return a.task != b.task ? a.task < b.task : a.shape < b.shape;
    }
    bool operator==(const ReadyHead&) const = default;
};

// Ready tasks of one shape.
struct ReadyTasks {
    std::map<double, ReadyQueue, std::greater<>> queues;  // by priority; none of them is empty
    IntervalSet suspects;                                 // lost with a worker before

    std::optional<TaskId> next() const {
        return queues.empty() ? std::nullopt : queues.begin()->second.next();
    }
    bool empty() const { return queues.empty() && suspects.empty(); }
};

// Shapes with ready tasks that are no suspects, the most urgent first.
using ReadyShapes = std::set<ReadyHead>;

class Ledger {
  public:
    // New tasks, blocked. Their ids follow the last ones without a gap.
    ShapeId add(const TaskRange& range, WallMicros submitted);

    std::uint64_t size() const { return size_; }
    TaskState state(TaskId task) const;
    // Priority, times and the limit of tries are no part of it here: tasks that differ in nothing else are
    // of one shape.
    const Shape& shape(ShapeId id) const { return shapes_[id.value()].shape; }
    ShapeId shape_of(TaskId task) const;
    WallMicros submitted(TaskId task) const { return range_of(task).submitted; }
    double priority(TaskId task) const { return range_of(task).priority; }
    const Times& times(TaskId task) const { return times_[range_of(task).times]; }
    std::uint32_t max_tries(TaskId task) const { return range_of(task).max_tries; }  // 0: none of its own
    std::uint32_t shapes() const { return static_cast<std::uint32_t>(shapes_.size()); }

    // What is out with a worker is of this shape from now on, which is of the same category.
    void reshape(TaskId task, Shape shape);

    // Changes of state; each goes through the table of lifecycle.h. An arrow that is not there is our bug.
    void change(TaskId task, TaskEvent event);
    void change(Interval tasks, TaskEvent event);  // all in the same state, without a record of their own

    // The time by which tasks with times of their own are ready, or have expired. It never goes back.
    void advance(WallMicros wall);
    // When one of those that wait may start or expires next.
    std::optional<WallMicros> next_time() const;
    // Waiting tasks that expired; some of them, until none are left.
    IntervalSet expired() const;

    // Cancels those of `tasks` that wait and were never given out.
    void cancel_fresh(Interval tasks);

    // The record of a task that was given out at least once, until it has ended.
    Attempted& attempted(TaskId task) { return attempted_[task]; }  // made when absent
    const Attempted* find_attempted(TaskId task) const;
    // Those of `tasks` that have one, in order. Costs the smaller of their number and that of all records.
    std::vector<TaskId> attempted_in(Interval tasks) const;

    std::optional<ReadyHead> head(ShapeId shape) const;
    const ReadyTasks& ready(ShapeId shape) const { return shapes_[shape.value()].ready; }
    const ReadyShapes& ready_shapes() const { return ready_shapes_; }  // that any worker may run
    const ReadyShapes& ready_shapes_for(WorkerId worker) const;        // that are pinned to it, among others
    const std::set<ShapeId>& suspect_shapes() const { return suspect_shapes_; }
    // Shapes of which there were no ready tasks, or no suspects, and now are, or whose most urgent one is
    // more urgent than before; those that are always woken (below) with each. Each call forgets them.
    std::vector<ShapeId> take_awakened();
    // Whether each task of the shape that becomes ready awakens it, as those before it may be waiting for
    // something else.
    void wake_always(ShapeId shape, bool on) { shapes_[shape.value()].wakes_always = on; }

    const IntervalSet& early() const { return early_; }  // ready, but for their time
    std::uint64_t count(CategoryId category, TaskState state) const;
    std::uint64_t count(TaskState state) const { return counts_[static_cast<std::size_t>(state)]; }
    const IntervalSet& done() const { return done_; }
    const IntervalSet& failed() const { return failed_; }
    const IntervalSet& skipped() const { return skipped_; }
    const IntervalSet& cancelled() const { return cancelled_; }
    // `tasks`, less what has ended.
    IntervalSet unended(const IntervalSet& tasks) const;

    // Recomputes every count and index from scratch; the text of the first contradiction.
    std::optional<std::string> audit() const;

  private:
    struct RangeInfo {
        std::uint64_t first;
        std::uint64_t end;
        WallMicros submitted;
        double priority;
        ShapeId shape;
        std::uint32_t times;  // index into times_
        std::uint32_t max_tries;
    };
    struct ShapeInfo {
        Shape shape;
        ReadyTasks ready;
        bool wakes_always = false;
    };

    const RangeInfo& range_of(TaskId task) const;
    ShapeId intern(Shape shape);
    std::uint32_t intern(const Times& times);
    template <class F>
    void for_each_range(Interval tasks, F&& visit) const;  // visit(part, RangeInfo)
    void count_in(Interval tasks, TaskState state, bool in);
    IntervalSet ready_in(const IntervalSet& tasks) const;
    void set_expiring(Interval tasks, bool waits);
    void leave(Interval tasks, TaskState state);
    void enter(Interval tasks, TaskState state);
    void set_ready(Interval tasks, bool ready);
    void set_ready(Interval part, const RangeInfo& range, bool ready);
    void move_head(ShapeId shape, std::optional<ReadyHead> before, std::optional<ReadyHead> after);
    std::optional<std::string> audit_task(TaskId task) const;
    std::optional<std::string> audit_shape(ShapeId shape) const;

    std::uint64_t size_ = 0;
    std::vector<RangeInfo> ranges_;
    std::vector<ShapeInfo> shapes_;
    std::map<Shape, ShapeId> shape_ids_;
    ReadyShapes ready_shapes_;
    std::unordered_map<WorkerId, ReadyShapes> pinned_;
    std::set<ShapeId> suspect_shapes_;
    std::vector<ShapeId> awakened_;
    std::unordered_map<TaskId, Attempted> attempted_;
    bool some_reshaped_ = false;  // some task ever was
    IntervalSet sealed_;
    IntervalSet done_;
    IntervalSet failed_;
    IntervalSet skipped_;
    IntervalSet cancelled_;
    using Counts = std::array<std::uint64_t, task_state_count>;
    Counts counts_{};
    std::vector<Counts> category_counts_;  // by CategoryId
    std::vector<Times> times_{Times{}};    // the first: none
    WallMicros wall_ = 0;
    IntervalSet early_;
    std::map<WallMicros, IntervalSet> starting_;  // the same, by their time
    std::map<WallMicros, IntervalSet> expiring_;  // blocked and ready ones with an end time, by that
};

template <class F>
void Ledger::for_each_range(Interval tasks, F&& visit) const {
    while (tasks.first < tasks.end) {
        const RangeInfo& range = range_of(TaskId(tasks.first));
        const Interval part{tasks.first, std::min(tasks.end, range.end)};
        visit(part, range);
        tasks.first = part.end;
    }
}

}  // namespace wq::core
