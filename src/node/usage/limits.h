// Kills tasks at their time limit, or by order (see also resource_watch.h).
#pragma once

#include <optional>

#include "node/usage/leftovers.h"
#include "node/usage/running_tasks.h"

namespace wq::node::usage {

class Limits {
  public:
    Limits(const RunningTasks& running, const Leftovers& leftovers)
        : running_(running), leftovers_(leftovers) {}

    void watch(RunningTask& task);  // it has just started
    void kill(RunningTask& task, Verdict verdict, Instant now);

    // Does what is due. next(): when to call it again, if at all.
    void check(Instant now);
    std::optional<Instant> next() const;

  private:
    void time_over(RunningTask& task, Instant now);
    std::vector<pid_t> tree(const RunningTask& task) const;
    void signal(const RunningTask& task, int signal) const;

    const RunningTasks& running_;
    const Leftovers& leftovers_;
};

}  // namespace wq::node::usage
