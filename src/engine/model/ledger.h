// The states of a task, as one table. Every change of state goes through next_state(); nothing else may
// assign a state. diagram() prints the table as a Graphviz drawing.
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
#include "engine/model/ready_times.h"
#include "engine/model/run_times.h"
#include "engine/model/task.h"

namespace wq::engine::model {

enum class TaskState : std::uint8_t {
    blocked,    // waits for an earlier line of one of its groups
    ready,      // may be dispatched
    leased,     // given to one worker, as attempt k
    sealed,     // part of a batch that the MPI pool claims by ticket, as attempt k
    done,       // succeeded
    failed,     // failed for good
    skipped,    // can never run: a predecessor failed, or no worker is large enough
    cancelled,  // by the user
};
inline constexpr int task_state_count = 8;

// The ready tasks of a shape that are meant: suspects (a worker was lost with each of them) or the others.
enum class Among : std::uint8_t { suspects, others };

enum class TaskEvent : std::uint8_t {
    unblock,        // the last stage that it waited for has opened
    lease,          // given to a worker
    seal,           // put into a batch
    succeed,        // its outcome: success
    fail,           // its outcome: failure without a retry left; or lost too often
    retry,          // its outcome: failure with a retry left
    give_back,      // never started (drain, recall, revoke): counts as no attempt
    lose,           // its worker was lost
    exhaust,        // its outcome: it exceeded its allocation and may run again
    abort,          // killed because it took too long; may run again
    skip,           // it can never run
    resume_done,    // the journal of an earlier run says done
    resume_failed,  // the journal of an earlier run says failed
    cancel,         // by the user
    expire,         // its end time came before it was dispatched
};
inline constexpr int task_event_count = 15;

// The state after `event` in `state`; nullopt if the table has no such transition.
std::optional<TaskState> next_state(TaskState state, TaskEvent event);

constexpr bool is_final(TaskState state) {
    return state >= TaskState::done;
}
const char* name_of(TaskState state);
const char* name_of(TaskEvent event);
std::string diagram();

// Every task of the run and its state. Common properties are stored per range of ids, ended tasks as sets of
// ranges; only a leased task, or one with a history, has its own record. So a million waiting tasks of one
// shape cost as much as one, and the 10^8 items of an array cost nothing until they have results.

// A task that is or was leased.
struct Attempted {
    Attempt attempt = 0;          // the current or last one
    std::uint32_t failures = 0;   // the task's own
    std::uint32_t losses = 0;     // together with its worker
    std::uint32_t exhausted = 0;  // it exceeded its allocation, and had not specified its needs
    std::uint32_t aborted = 0;    // killed because it took too long
    Attempt last = 0;             // the highest attempt number so far, copies included
    std::uint32_t unstarted = 0;  // leases that came back before they had started
    bool leased = false;
    bool kill_ordered = false;  // because it takes too long
    bool by_ticket = false;     // the current or last attempt was claimed, not leased
    WorkerId worker;            // the holder while leased
    Resources given;
    WallMicros ready_us = 0;  // of the current or next attempt, see Ledger::ready_since()
    WallMicros dispatched_us = 0;
    Instant since;                        // leased at
    std::optional<RunTimeMark> run_time;  // while leased and timed

    std::optional<RunTimeMark> straggling;  // the same for a copy
    std::optional<ShapeId> reshaped;        // if it asks for more than its range does

    Attempt next() const { return std::max(attempt, last) + 1; }
    // As users count: without leases that never started.
    Attempt shown() const { return attempt - unstarted; }
    // Counts against the task's own limit of tries: all failures that are not the task's fault.
    std::uint32_t spent() const { return losses + exhausted + aborted; }
};

// When a task may start and must end, by the wall clock.
struct Times {
    std::optional<WallMicros> not_before;
    std::optional<WallMicros> not_after;
    auto operator<=>(const Times&) const = default;
};

// Ready tasks of one shape and priority.
struct ReadyQueue {
    IntervalSet fresh;  // never leased: may be sealed
    IntervalSet again;  // leased before, or has an end time: only leased

    std::optional<TaskId> next() const;  // the lowest id
    bool empty() const { return fresh.empty() && again.empty(); }
};

// The next task of a shape; ordered by priority.
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
    std::map<double, ReadyQueue, std::greater<>> queues;  // by priority, highest first; none is empty
    IntervalSet suspects;                                 // lost with a worker before
    std::uint64_t others = 0;                             // tasks in the queues

    std::optional<TaskId> next() const {
        return queues.empty() ? std::nullopt : queues.begin()->second.next();
    }
    bool empty() const { return queues.empty() && suspects.empty(); }
    std::uint64_t count() const { return others + suspects.count(); }
};

// Shapes with ready tasks other than suspects, highest priority first.
using ReadyShapes = std::set<ReadyHead>;

// Which tasks of a shape awaken it when they become ready: the first task and the first suspect, or each one,
// because those before it may wait for something else.
enum class Wakes : std::uint8_t { first, each };

class Ledger {
  public:
    // Adds new tasks, blocked. Ids are contiguous.
    ShapeId add(const TaskRange& range, WallMicros submitted);

    std::uint64_t size() const { return size_; }
    TaskState state(TaskId task) const;
    // Priority, times and the limit of tries are not part of it: tasks that differ only in these have the
    // same shape.
    const Shape& shape(ShapeId id) const { return shapes_[id.value()].shape; }
    ShapeId shape_of(TaskId task) const;
    WallMicros submitted(TaskId task) const { return range_of(task).submitted; }
    double priority(TaskId task) const { return range_of(task).priority; }
    const Times& times(TaskId task) const { return times_[range_of(task).times]; }
    std::uint32_t max_tries(TaskId task) const { return range_of(task).max_tries; }  // 0: no limit of its own
    std::uint32_t shapes() const { return static_cast<std::uint32_t>(shapes_.size()); }

    // The leased task has this shape from now on; the category stays the same.
    void reshape(TaskId task, Shape shape);

    // Changes of state; each goes through next_state(). A transition that the table lacks is our
    // bug.
    void change(TaskId task, TaskEvent event);
    void change(Interval tasks, TaskEvent event);  // all in the same state, without own records

    // Moves the time at which waiting tasks become ready or expire. It never goes back.
    void advance(WallMicros wall);
    // When the next waiting task may start or expires.
    std::optional<WallMicros> next_time() const;
    // Since when the attempt that a ready task waits for, or the current one, could have been dispatched, by
    // the wall clock: no earlier task, start time or earlier attempt was in its way. Groups may make it too
    // early by a second.
    WallMicros ready_since(TaskId task) const;
    // Waiting tasks that expired. Returns some of them per call, none when all are handled.
    IntervalSet expired() const;

    // Cancels those of `tasks` that wait and were never leased.
    void cancel_fresh(Interval tasks);

    // The record of a task that was leased at least once, until it has ended.
    Attempted& attempted(TaskId task);  // created if missing
    const Attempted* find_attempted(TaskId task) const;
    // Those of `tasks` that have a record, in order. Costs the smaller of their number and the number of
    // records.
    std::vector<TaskId> attempted_in(Interval tasks) const;

    std::optional<ReadyHead> head(ShapeId shape) const;
    const ReadyTasks& ready(ShapeId shape) const { return shapes_[shape.value()].ready; }
    const ReadyShapes& ready_shapes() const { return ready_shapes_; }  // any worker may run them
    const ReadyShapes& ready_shapes_for(WorkerId worker) const;        // pinned to this worker, among others
    const std::set<ShapeId>& suspect_shapes() const { return suspect_shapes_; }
    // Shapes with ready tasks, each once, up to `most` of them. Costs no more than `most` and the number of
    // workers that tasks name.
    std::vector<ShapeId> some_ready_shapes(std::size_t most) const;
    // Shapes that a task has awakened: by Wakes, or because the highest priority has risen. Each call clears
    // the list.
    std::vector<ShapeId> take_awakened();
    void set_wakes(ShapeId shape, Wakes which) { shapes_[shape.value()].wakes = which; }

    const IntervalSet& early() const { return early_; }  // ready except for their start time
    std::uint64_t count(CategoryId category, TaskState state) const;
    std::uint64_t count(TaskState state) const { return counts_[static_cast<std::size_t>(state)]; }
    const IntervalSet& done() const { return done_; }
    const IntervalSet& failed() const { return failed_; }
    const IntervalSet& skipped() const { return skipped_; }
    const IntervalSet& cancelled() const { return cancelled_; }
    // `tasks`, without those that ended.
    IntervalSet unended(const IntervalSet& tasks) const;

    // Recomputes every count and index; returns the first contradiction.
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
        Wakes wakes = Wakes::first;
    };

    // Whether tasks enter or leave one of the sets and counts.
    enum class Move : std::uint8_t { in, out };

    const RangeInfo& range_of(TaskId task) const;
    ShapeId intern(Shape shape);
    std::uint32_t intern(const Times& times);
    template <class F>
    void for_each_range(Interval tasks, F&& visit) const;  // calls visit(part, RangeInfo)
    void count_move(Interval tasks, TaskState state, Move move);
    IntervalSet ready_in(const IntervalSet& tasks) const;
    void move_expiring(Interval tasks, Move move);
    void leave(Interval tasks, TaskState state);
    void enter(Interval tasks, TaskState state);
    void note_ready(Interval tasks, TaskState from, TaskState to);
    WallMicros first_ready(TaskId task) const;  // of a task without a record
    void move_ready(Interval tasks, Move move);
    void move_ready(Interval part, const RangeInfo& range, Move move);
    void move_head(ShapeId shape, std::optional<ReadyHead> before, std::optional<ReadyHead> after);
    std::optional<std::string> audit_task(TaskId task) const;
    std::optional<std::string> audit_shape(ShapeId shape) const;

    std::uint64_t size_ = 0;
    std::vector<RangeInfo> ranges_;
    mutable std::size_t last_range_ = 0;  // the last hit: most consecutive lookups are about one task
    std::vector<ShapeInfo> shapes_;
    std::map<Shape, ShapeId> shape_ids_;
    ReadyShapes ready_shapes_;
    std::unordered_map<WorkerId, ReadyShapes> pinned_;
    std::set<ShapeId> suspect_shapes_;
    std::vector<ShapeId> awakened_;
    std::unordered_map<TaskId, Attempted> attempted_;
    bool some_reshaped_ = false;  // some task was reshaped at least once
    IntervalSet sealed_;
    IntervalSet done_;
    IntervalSet failed_;
    IntervalSet skipped_;
    IntervalSet cancelled_;
    using Counts = std::array<std::uint64_t, task_state_count>;
    Counts counts_{};
    std::vector<Counts> category_counts_;  // by CategoryId
    std::vector<Times> times_{Times{}};    // the first entry: no times
    WallMicros wall_ = 0;
    ReadyTimes unblocked_;  // of tasks without a record, later than they were added
    IntervalSet early_;
    std::map<WallMicros, IntervalSet> starting_;  // the same, by start time
    std::map<WallMicros, IntervalSet> expiring_;  // blocked and ready ones, by end time
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

}  // namespace wq::engine::model
