// Groups of tasks, from the tags of a list: a chain of stages per group.
//
// `#:g` is a stage of one task; consecutive `#+g` form one stage whose members do not wait for each other. A
// sequential stage opens when all earlier stages are over, a parallel one when all earlier sequential stages
// are over; a stage is over when all its members succeeded. (The two differ only when a list is edited before
// a resume: then a sequential stage can be over before an earlier parallel one.) Every line is a member of
// group 0 (the empty name), as if it had a bare `#+`, so a bare `#:` is a barrier for all lines above it. If
// a member fails for good or can never run, the tasks that wait for it never run.
//
// Group 0 is kept as ranges of ids, so an untagged task costs nothing here; a tagged one costs nothing once
// it ended.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "engine/model/task.h"

namespace wq::engine::model {

// The effects of one task's change on others. Both sets may contain tasks that have ended already.
struct GroupChange {
    IntervalSet unblocked;  // may be dispatched now
    IntervalSet dead;       // can never run
    TaskId because;         // the failed member that killed them
};

class Groups {
  public:
    // Adds tasks `first` .. `first + count - 1`; ids are contiguous. `tags` come besides the implicit one,
    // and only if count is 1. The tasks in `done` succeeded in an earlier run.
    GroupChange add(TaskId first, std::uint64_t count, const std::vector<GroupTag>& tags,
                    const IntervalSet& done = {});
    // A bare `#:` on its own line: a barrier without a task.
    GroupChange barrier();

    GroupChange succeeded(Interval tasks);  // these tasks were not blocked
    GroupChange failed(Interval tasks);     // for good, or will never run

    bool blocked(TaskId task) const;  // only for a task that has not ended

  private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    struct Stage {
        bool sequential = false;
        bool barrier = false;         // no task; over as soon as it is open
        Interval range;               // in group 0
        std::uint64_t remaining = 0;  // members that have not succeeded
        std::vector<TaskId> members;  // in named groups, until it is open
    };
    struct Chain {
        std::vector<Stage> stages;
        std::size_t unfinished = 0;             // the first stage with remaining members, or the last
        std::size_t unfinished_sequential = 0;  // the first sequential stage with remaining members, or
                                                // stages.size()
        std::size_t broken = none;              // the first stage with a member that failed
        std::size_t broken_sequential = none;   // the first sequential stage with a failed member
        TaskId broken_by;

        bool open(std::size_t stage) const {
            return stages[stage].sequential ? stage <= unfinished : stage < unfinished_sequential;
        }
        bool dead(std::size_t stage) const {
            return stages[stage].sequential ? broken < stage : broken_sequential < stage;
        }
    };
    struct Membership {
        std::uint32_t group = 0;
        std::size_t stage = 0;
    };
    struct Tagged {
        std::vector<Membership> named;
        std::uint32_t waits = 0;  // how many chains are not open for it yet, including group 0
    };
    struct Break {
        Membership where;
        TaskId root;  // the task whose failure is the cause
    };
    using TaggedMap = std::map<TaskId, Tagged>;

    Chain& chain(std::uint32_t group);
    std::size_t place(const GroupTag& tag);
    std::size_t whole_list_stage(std::uint64_t task) const;
    void advance(std::uint32_t group, GroupChange& change);
    void open_stage(std::uint32_t group, std::size_t stage, GroupChange& change);
    void release(TaggedMap::iterator task, GroupChange& change);
    void finish_member(Membership where, std::uint64_t count, GroupChange& change);
    void break_chains(std::vector<Break> breaks, GroupChange& change);
    void kill_stage(Membership where, TaskId root, std::vector<Break>& breaks, GroupChange& change);
    void kill_range(Interval range, TaskId root, std::vector<Break>& breaks, GroupChange& change);
    // Removes tagged tasks of `range` and adds what breaks with them to `breaks`.
    void take_tagged(Interval range, TaskId root, std::vector<Break>& breaks);

    std::vector<Chain> chains_ = std::vector<Chain>(1);
    TaggedMap tagged_;  // members of named groups that have not ended
    std::uint64_t end_ = 0;
};

}  // namespace wq::engine::model
