// Groups of tasks, as the tags of a list make them: a chain of stages per group.
//
// `#:g` is a stage of one; a run of `#+g` is one stage whose members do not wait for each other. A stage opens when the
// one before it is over, that is when all its members succeeded. Since `#:g` waits for all earlier lines of g and `#+g`
// for all earlier `#:g`, a chain says it all. Every line is a member of group 0 (the empty name) as if it bore a bare
// `#+`, so that a bare `#:` is a barrier for all lines above it. A member that fails for good (or can never run)
// breaks its chain: no later stage can run.
//
// Group 0 is kept as ranges of ids, so an untagged task costs nothing here.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "core/task.h"

namespace wq::core {

// What a change of one task has done to others.
struct GroupChange {
    IntervalSet unblocked;           // may be given out now
    IntervalSet dead;                // can never run
    TaskId because;                  // the failed member that killed them
};

class Groups {
  public:
    // Tasks `first` .. `first + count - 1` follow in the list. Their ids follow the last ones without a gap.
    // Tags of tasks besides the implicit one; several tasks in one call have no tags.
    GroupChange add(TaskId first, std::uint64_t count, const std::vector<GroupTag>& tags);
    // A bare `#:` on a line of its own: a barrier that is no task.
    GroupChange barrier();

    GroupChange succeeded(Interval tasks);  // of tasks that were not blocked, or that an earlier run did
    GroupChange failed(TaskId task);        // for good

    bool blocked(TaskId task) const;

    // The failed member that lets `task` never run, if there is one.
    std::optional<TaskId> killer(TaskId task) const;

  private:
    struct Stage {
        bool sequential = false;
        std::vector<TaskId> members;   // of named groups
        Interval range;                // of group 0
        std::uint64_t remaining = 0;   // members that have not succeeded
    };
    struct Chain {
        std::vector<Stage> stages;
        std::size_t open = 0;                  // stages up to this one may run
        std::optional<std::size_t> broken_at;  // a member of this stage failed: later ones are dead
        TaskId broken_by;
    };
    struct Membership {
        std::uint32_t group = 0;
        std::size_t stage = 0;
    };

    struct Break {
        Membership where;
        TaskId root;  // the task whose failure started it
    };

    Chain& chain(std::uint32_t group);
    // The stage of `group` that the next member belongs to; made when there is none yet.
    std::size_t place(std::uint32_t group, bool sequential);
    std::size_t whole_list_stage(TaskId task) const;
    std::vector<Membership> memberships(TaskId task) const;  // group 0 first
    void advance(std::uint32_t group, GroupChange& change);
    void release(TaskId task, GroupChange& change);
    void finish_member(Membership where, std::uint64_t count, GroupChange& change);
    void break_chains(std::vector<Break> breaks, GroupChange& change);
    void kill(TaskId task, TaskId root, std::vector<Break>& breaks, GroupChange& change);
    template <class F>
    void for_each_tagged(Interval range, F&& visit) const;

    std::vector<Chain> chains_ = std::vector<Chain>(1);
    std::unordered_map<TaskId, std::vector<Membership>> tagged_;  // named groups only
    std::unordered_map<TaskId, std::uint32_t> waits_;             // tagged tasks: chains that are not open for them yet
    std::set<TaskId> tagged_ids_;                                 // the keys of tagged_, in order
    IntervalSet dead_;
    std::uint64_t end_ = 0;
};

}  // namespace wq::core
