// Handles the events of the task source: tasks, barriers, the end.
#pragma once

#include <optional>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class TaskSource : Policy {
  public:
    using Policy::Policy;

    void on(const TasksAdded& event);
    void on(const BarrierAdded&) { attempts_.apply(state_.groups.barrier()); }
    void on(const InputEnded&) { state_.input_ended = true; }
};

// Cancels tasks at the user's request. The cost of cancelling a range, even of a thousand million calls,
// depends only on its pieces: the tasks that workers hold, and the gaps between them.
class Cancellation : Policy {
  public:
    using Policy::Policy;

    // Takes the tasks from their workers at once. Later reports about them are stale.
    void on(const CancelRequested& event);

  private:
    void cancel_tickets(Interval tasks);
};

// Handles start and end times of tasks, by the wall clock.
class TaskTimes : Policy {
  public:
    using Policy::Policy;

    void expire_what_is_over();
    std::optional<Instant> next_due() const;
};

}  // namespace wq::engine::policies
