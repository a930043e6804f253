// Handles the events of the task source: tasks, barriers, the end.
#pragma once

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class TaskSource : Policy {
  public:
    using Policy::Policy;

    void on(const TasksAdded& event);
    void on(const BarrierAdded&) { attempts_.apply(state_.groups.barrier()); }
    void on(const InputEnded&) { state_.input_ended = true; }
};

}  // namespace wq::engine::policies
