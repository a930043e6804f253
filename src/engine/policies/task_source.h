// Handles the events of the task source: tasks, barriers, the end.
#pragma once

#include <optional>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class TaskSource : Policy {
  public:
    explicit TaskSource(Shared& shared)
        : Policy(shared), groups_(shared.state.groups), run_(shared.state.run) {}

    void on(const TasksAdded& event);
    void on(const BarrierAdded&) { attempts_.apply(groups_.barrier()); }
    void on(const InputEnded&) { run_.end_input(); }

  private:
    Groups& groups_;
    RunPhase& run_;
};

// Cancels tasks at the user's request. The cost of cancelling a range, even of a thousand million calls,
// depends only on its pieces: the tasks that workers hold, and the gaps between them.
class Cancellation : Policy {
  public:
    explicit Cancellation(Shared& shared) : Policy(shared), groups_(shared.state.groups) {}

    // Takes the tasks from their workers at once. Later reports about them are stale.
    void on(const CancelRequested& event);

  private:
    void cancel_tickets(Interval tasks);

    Groups& groups_;
};

// Handles start and end times of tasks, by the wall clock.
class TaskTimes : Policy {
  public:
    using Policy::Policy;

    void expire_what_is_over();
    std::optional<Instant> next_due() const;
};

}  // namespace wq::engine::policies
