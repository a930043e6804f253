// Kills tasks at their time limit, or by order (see also resource_watch.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
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

// Counts kills by the kernel's OOM killer in our control group, or on the whole machine if the group's count
// cannot be read. If the count grew at a SIGKILL, the OOM killer sent it.

inline constexpr const char* killed_by_kernel = "killed by the kernel for lack of memory";

class OomCounter {
  public:
    OomCounter();
    explicit OomCounter(std::vector<std::string> files);
    bool grew();  // since the last call
    // We have moved to another group, with other files. An increase before that is still reported.
    void go_over_to(std::vector<std::string> files);

  private:
    std::uint64_t read() const;
    std::vector<std::string> files_;  // each with a line "oom_kill N"
    std::uint64_t last_ = 0;
    bool grew_before_ = false;
};

// Sets which process the kernel kills first if memory runs out: a task, then its launcher, then its rank.

// Makes the kernel kill this process, a launcher, before its rank. Its children inherit that.
void offer_launcher_as_oom_victim();

class OomScore {
  public:
    OomScore();
    // Makes the kernel kill a newly started process before us.
    void offer(pid_t pid) const;

  private:
    Descriptor proc_;
    std::string of_tasks_;  // empty: no score is higher than ours
};

}  // namespace wq::node::usage
