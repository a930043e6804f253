// Every task of the run and its state. What tasks have in common is kept per range of ids, what has ended as
// sets of ranges; only a task that is out with a worker, or has a history, costs a record of its own. So a
// million waiting tasks of one shape cost as much as one, and 10^8 items of an array cost nothing until they
// have results.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "core/lifecycle.h"
#include "core/task.h"

namespace wq::core {

using ShapeId = Id<struct ShapeTag, std::uint32_t>;

// A task that is out with a worker, or was.
struct Attempted {
    Attempt attempt = 0;         // the present or last one
    std::uint32_t failures = 0;  // by itself
    std::uint32_t losses = 0;    // with its worker
    bool leased = false;
    bool by_ticket = false;  // the present or last attempt was claimed, not leased
    WorkerId worker;         // holds it while leased
    Resources given;
    WallMicros dispatched_us = 0;
};

// Ready tasks of one shape, in three queues.
struct ReadyTasks {
    IntervalSet fresh;     // never given out
    IntervalSet again;     // given out before
    IntervalSet suspects;  // lost with a worker before

    std::optional<TaskId> next() const;  // the lowest of fresh and again
    std::optional<TaskId> next_suspect() const;
    bool empty() const { return fresh.empty() && again.empty() && suspects.empty(); }
};

// Shapes with ready tasks that are no suspects, in order of their first one.
using ReadyShapes = std::set<std::pair<TaskId, ShapeId>>;

class Ledger {
  public:
    // New tasks, blocked. Their ids follow the last ones without a gap.
    ShapeId add(const TaskRange& range, WallMicros submitted);

    std::uint64_t size() const { return size_; }
    TaskState state(TaskId task) const;
    const Shape& shape(ShapeId id) const { return shapes_[id.value()].shape; }
    ShapeId shape_of(TaskId task) const { return range_of(task).shape; }
    WallMicros submitted(TaskId task) const { return range_of(task).submitted; }
    std::uint32_t shapes() const { return static_cast<std::uint32_t>(shapes_.size()); }

    // Changes of state; each goes through the table of lifecycle.h. An arrow that is not there is our bug.
    void change(TaskId task, TaskEvent event);
    void change(Interval tasks, TaskEvent event);  // all in the same state, without a record of their own

    // The record of a task that was given out at least once, until it has ended.
    Attempted& attempted(TaskId task) { return attempted_[task]; }  // made when absent
    const Attempted* find_attempted(TaskId task) const;

    const ReadyTasks& ready(ShapeId shape) const { return shapes_[shape.value()].ready; }
    const ReadyShapes& ready_shapes() const { return ready_shapes_; }  // that any worker may run
    const ReadyShapes& ready_shapes_for(WorkerId worker) const;        // that are pinned to it, among others
    const std::set<ShapeId>& suspect_shapes() const { return suspect_shapes_; }
    // Shapes of which there were no ready tasks, or no suspects, and now are; each call forgets them.
    std::vector<ShapeId> take_awakened();

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
        ShapeId shape;
        WallMicros submitted;
    };
    struct ShapeInfo {
        Shape shape;
        ReadyTasks ready;
    };

    const RangeInfo& range_of(TaskId task) const;
    ShapeId intern(const Shape& shape);
    void leave(Interval tasks, TaskState state);
    void enter(Interval tasks, TaskState state);
    void set_ready(Interval tasks, bool ready);
    void set_ready(Interval part, ShapeId shape, bool ready);
    void move_head(ShapeId shape, std::optional<TaskId> before, std::optional<TaskId> after);
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
    IntervalSet sealed_;
    IntervalSet done_;
    IntervalSet failed_;
    IntervalSet skipped_;
    IntervalSet cancelled_;
    std::uint64_t counts_[task_state_count] = {};
};

}  // namespace wq::core
