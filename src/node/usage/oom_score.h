// Sets which process the kernel kills first if memory runs out: a task, then its launcher, then its rank.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/descriptor.h"

namespace wq::node::usage {

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
