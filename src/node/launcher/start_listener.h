// Receives what becomes of tasks that others start for a launcher: the worker's shell and Python
// interpreters.
#pragma once

#include <string>

#include "node/launcher/lane.h"

namespace wq::node::launcher {

// Why a task was not started.
struct StartProblem {
    std::string reason;
    bool may_pass = false;  // processes, memory or descriptors are short at the moment
};

class StartListener {
  public:
    virtual void task_started(Lane& lane) = 0;  // lane.pid is set
    virtual void task_not_started(Lane& lane, StartProblem problem) = 0;

  protected:
    ~StartListener() = default;
};

}  // namespace wq::node::launcher
