// Handles successful calls that workers report as ranges. They stay ranges, so ten million cost as much as
// one.
#pragma once

#include <map>
#include <utility>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

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
