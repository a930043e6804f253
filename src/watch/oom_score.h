// Whom the kernel ends where memory runs out: a task first, then its launcher, and only then its rank.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/descriptor.h"

namespace wq::watch {

// This process, a launcher, before its rank. What it starts inherits that.
void offer_launcher_as_oom_victim();

class OomScore {
  public:
    OomScore();
    // A process that has just been started, before us.
    void offer(pid_t pid) const;

  private:
    Descriptor proc_;
    std::string of_tasks_;  // empty: there is none above ours
};

}  // namespace wq::watch
