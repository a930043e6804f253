// Every task of the run and its state. What tasks have in common is kept per range of ids, what has ended as sets of
// ranges; only a task that is out with a worker, or has a history, costs a record of its own. So a million waiting
// tasks of one shape cost as much as one, and 10^8 items of an array cost nothing until they have results.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
    Attempt attempt = 0;            // the present or last one
    std::uint32_t failures = 0;     // by itself
    std::uint32_t losses = 0;       // with its worker
    WorkerId worker;                // holds it while leased
    Resources given;
    WallMicros dispatched_us = 0;
};

class Ledger {
  public:
    // New tasks, blocked. Their ids follow the last ones without a gap.
    ShapeId add(const TaskRange& range, WallMicros submitted);

    std::uint64_t size() const { return size_; }
    TaskState state(TaskId task) const;
    const Shape& shape(ShapeId id) const { return shapes_[id.value()].shape; }
    ShapeId shape_of(TaskId task) const;
    WallMicros submitted(TaskId task) const;
    std::size_t shapes() const { return shapes_.size(); }

    // Changes of state; each goes through the table of lifecycle.h. An arrow that is not there is our bug.
    void change(TaskId task, TaskEvent event);
    void change(Interval tasks, TaskEvent event);     // all in the same state, without a record of their own

    // The record of a task that was given out at least once.
    Attempted& attempted(TaskId task);                // made when absent
    const Attempted* find_attempted(TaskId task) const;
    // Tasks within `range` that have such a record and have not ended.
    template <class F>
    void for_each_attempted(Interval range, F&& visit) const {
        if (range.size() < attempted_.size()) {
            for (std::uint64_t id = range.first; id < range.end; ++id)
                if (attempted_.contains(TaskId(id))) visit(TaskId(id));
        } else {
            for (const auto& [task, record] : attempted_)
                if (task.value() >= range.first && task.value() < range.end) visit(task);
        }
    }

    // Ready tasks of a shape that were never lost with a worker, lowest first; those that were ("suspects") apart.
    const IntervalSet& ready(ShapeId shape) const { return shapes_[shape.value()].ready; }
    const std::set<TaskId>& suspects() const { return suspects_; }
    // Shapes with ready tasks, in order of their first one.
    const std::set<std::pair<std::uint64_t, ShapeId>>& ready_shapes() const { return ready_shapes_; }

    std::uint64_t count(TaskState state) const { return counts_[static_cast<std::size_t>(state)]; }
    const IntervalSet& done() const { return done_; }
    const IntervalSet& failed() const { return failed_; }
    const IntervalSet& skipped() const { return skipped_; }
    // Parts of `tasks` that are blocked: neither ended, ready nor out.
    IntervalSet blocked_part(Interval tasks) const;

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
        IntervalSet ready;
    };

    std::vector<RangeInfo>::const_iterator find_range(std::uint64_t id) const;
    const RangeInfo& range_of(TaskId task) const { return *find_range(task.value()); }
    ShapeId intern(const Shape& shape);
    void leave(Interval tasks, TaskState state);
    void enter(Interval tasks, TaskState state);
    void set_ready(Interval tasks, bool ready);

    std::uint64_t size_ = 0;
    std::vector<RangeInfo> ranges_;
    std::vector<ShapeInfo> shapes_;
    std::map<Shape, ShapeId> shape_ids_;
    std::set<std::pair<std::uint64_t, ShapeId>> ready_shapes_;
    std::set<TaskId> suspects_;
    std::unordered_map<TaskId, Attempted> attempted_;
    std::set<TaskId> leased_;
    IntervalSet sealed_;
    IntervalSet done_;
    IntervalSet failed_;
    IntervalSet skipped_;
    std::uint64_t counts_[task_state_count] = {};
};

}  // namespace wq::core
