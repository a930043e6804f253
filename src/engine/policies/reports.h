// Handles workers' reports on single attempts: how they ended, or that they had not started. A report is
// stale, and only counted, if it names another attempt than the current one, or comes from a worker that does
// not hold it.
#pragma once

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class Reports : Policy {
  public:
    using Policy::Policy;

    void on(const TaskReported& event);
    void on(const TaskGivenBack& event);

  private:
    void copy_reported(TaskId task, const Outcome& outcome);
    void count(TaskId task, const Outcome& outcome);
    void settle(TaskId task, const Outcome& outcome);
    void answered_recall(WorkerId worker);
};

}  // namespace wq::engine::policies
