// Handles start and end times of tasks, by the wall clock.
#pragma once

#include <optional>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class TaskTimes : Policy {
  public:
    using Policy::Policy;

    void expire_what_is_over();
    std::optional<Instant> next_due() const;
};

}  // namespace wq::engine::policies
