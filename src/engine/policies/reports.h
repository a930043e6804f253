// Handles workers' reports on single attempts: how they ended, or that they had not started. A report is
// stale, and only counted, if it names another attempt than the current one, or comes from a worker that does
// not hold it.
#pragma once

#include <map>
#include <utility>

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

// Handles successful calls that workers report as ranges. They stay ranges, so ten million cost as much as
// one.
class RangeReports : Policy {
  public:
    using Policy::Policy;

    void on(const RangeReported& event);

  private:
    using Ended = std::map<std::pair<ShapeId, Resources>, IntervalSet>;  // by shape and allocation
    Ended end_all(const RangeReported& event);
    void end_tickets(const RangeReported& event, Ended& ended);
};

}  // namespace wq::engine::policies
