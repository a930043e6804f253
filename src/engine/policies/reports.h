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
    explicit Reports(Shared& shared) : Policy(shared), mean_wall_(shared.state.mean_wall) {}

    void on(const TaskReported& event);
    void on(const TaskGivenBack& event);

  private:
    void copy_reported(TaskId task, const Outcome& outcome);
    void settle(TaskId task, const Outcome& outcome);
    void answered_recall(WorkerId worker);

    PerShape<MeanWallTime>& mean_wall_;
};

// Handles successful calls that workers report as ranges. They stay ranges, so ten million cost as much as
// one.
class RangeReports : Policy {
  public:
    explicit RangeReports(Shared& shared)
        : Policy(shared), groups_(shared.state.groups), mean_wall_(shared.state.mean_wall) {}

    void on(const RangeReported& event);

  private:
    using Ended = std::map<std::pair<ShapeId, Resources>, IntervalSet>;  // by shape and allocation
    Ended end_all(const RangeReported& event);
    void end_tickets(const RangeReported& event, Ended& ended);

    Groups& groups_;
    PerShape<MeanWallTime>& mean_wall_;
};

}  // namespace wq::engine::policies
