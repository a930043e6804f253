// Groups of tasks, as the tags of a list make them: a chain of stages per group.
//
// `#:g` is a stage of one; a run of `#+g` is one stage whose members do not wait for each other. A sequential
// stage opens when all stages before it are over, a parallel one when all sequential stages before it are; a
// stage is over when all its members succeeded. (The two differ only after a resume of a list that was edited
// in between: then a sequential stage can be over although an earlier parallel one is not.) Every line is a
// member of group 0 (the empty name) as if it bore a bare `#+`, so that a bare `#:` is a barrier for all
// lines above it. A member that fails for good, or can never run, lets none run that wait for it.
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
#include "core/task.h"

namespace wq::core {

// What a change of one task has done to others. Both sets may name tasks that have ended already.
struct GroupChange {
    IntervalSet unblocked;  // may be given out now
    IntervalSet dead;       // can never run
    TaskId because;         // the failed member that killed them
};

class Groups {
  public:
    // Tasks `first` .. `first + count - 1` follow in the list; their ids follow the last ones without a gap.
    // `tags` besides the implicit one, only where count is 1. Those in `done` succeeded in an earlier run.
    GroupChange add(TaskId first, std::uint64_t count, const std::vector<GroupTag>& tags,
                    const IntervalSet& done = {});
    // A bare `#:` on a line of its own: a barrier that is no task.
    GroupChange barrier();

    GroupChange succeeded(Interval tasks);  // of tasks that were not blocked
    GroupChange failed(Interval tasks);     // for good, or never to run

    bool blocked(TaskId task) const;  // of a task that has not ended

  private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    struct Stage {
        bool sequential = false;
        bool barrier = false;         // no task: over as soon as it is open
        Interval range;               // of group 0
        std::uint64_t remaining = 0;  // members that have not succeeded
        std::vector<TaskId> members;  // of named groups, until it is open
    };
    struct Chain {
        std::vector<Stage> stages;
        std::size_t unfinished = 0;             // the first stage with remaining members, or the last
        std::size_t unfinished_sequential = 0;  // the first sequential stage with some, or stages.size()
        std::size_t broken = none;              // the first stage with a member that failed
        std::size_t broken_sequential = none;   // the first sequential one of these
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
        std::uint32_t waits = 0;  // chains that are not open for it yet, group 0 among them
    };
    struct Break {
        Membership where;
        TaskId root;  // the task whose failure started it
    };
    using TaggedMap = std::map<TaskId, Tagged>;

    Chain& chain(std::uint32_t group);
    std::size_t place(std::uint32_t group, bool sequential);
    std::size_t whole_list_stage(std::uint64_t task) const;
    void advance(std::uint32_t group, GroupChange& change);
    void open_stage(std::uint32_t group, std::size_t stage, GroupChange& change);
    void release(TaggedMap::iterator task, GroupChange& change);
    void finish_member(Membership where, std::uint64_t count, GroupChange& change);
    void break_chains(std::vector<Break> breaks, GroupChange& change);
    void kill_stage(Membership where, TaskId root, std::vector<Break>& breaks, GroupChange& change);
    void kill_range(Interval range, TaskId root, std::vector<Break>& breaks, GroupChange& change);
    // What breaks with tagged tasks of `range`; they are forgotten.
    void take_tagged(Interval range, TaskId root, std::vector<Break>& breaks);

    std::vector<Chain> chains_ = std::vector<Chain>(1);
    TaggedMap tagged_;  // members of named groups that have not ended
    std::uint64_t end_ = 0;
};

}  // namespace wq::core
