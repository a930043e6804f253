// What follows the end of a task's process: its verdict, the rest of its output, what it left behind, its
// report, and its lane for the next task.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "node/launcher/accounts.h"
#include "node/launcher/lane.h"
#include "node/launcher/report_buffer.h"
#include "node/usage/resource_watch.h"
#include "node/usage/running_tasks.h"

namespace wq::node::launcher {

class TaskEnds {
  public:
    TaskEnds(Accounts& accounts, Lanes& lanes, usage::Leftovers& leftovers, usage::ResourceWatch& watch,
             OutputWatch& outputs, ReportBuffer& reports)
        : accounts_(accounts),
          lanes_(lanes),
          leftovers_(leftovers),
          watch_(watch),
          outputs_(outputs),
          reports_(reports) {}

    // Its process has ended and was waited for. settle() does the rest, for all of them together.
    void note(Lane& lane, int status, const rusage& usage, Instant now);
    bool any() const { return !noted_.empty(); }
    // `others`: processes that are no tasks' have ended, too.
    void settle(bool others, Instant now);

    // A lane whose task is reported, or was not begun.
    void release(Lane& lane);

    std::uint64_t count() const { return count_; }                                // of tasks that have ended
    bool take_killed_orphans() { return std::exchange(killed_orphans_, false); }  // since it was last called

  private:
    void finish(Lane& lane, bool may_be_held, Instant now);

    Accounts& accounts_;
    Lanes& lanes_;
    usage::Leftovers& leftovers_;
    usage::ResourceWatch& watch_;
    OutputWatch& outputs_;
    ReportBuffer& reports_;
    std::vector<Lane*> noted_;
    std::uint64_t count_ = 0;
    bool killed_orphans_ = false;
};

}  // namespace wq::node::launcher
