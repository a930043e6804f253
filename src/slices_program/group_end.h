// Ends what a rank's commands leave running. The kernel kills a command with its rank, but not what the
// command has started; and mpirun waits for all who hold its output. So each rank has a process beside it, in
// whose process group the commands run, and which kills this group when the rank is gone. What a command
// starts in another group, as timeout and setsid do, is not found.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/descriptor.h"
#include "process/spawn.h"

namespace wq::slices_program {

// The command line of that process: work_queue_slices with this word alone.
inline constexpr std::string_view group_end_word = "--end-group-of-lost-rank";

class GroupEnd {
  public:
    GroupEnd();   // starts it; throws std::runtime_error
    ~GroupEnd();  // ends it, and with it the group
    GroupEnd(const GroupEnd&) = delete;
    pid_t group() const { return pid_; }

  private:
    process::ChildStack stack_;
    Descriptor pipe_;  // which ends with the rank
    pid_t pid_ = -1;
};

// That process. Does not return.
[[noreturn]] void end_group_of_lost_rank();

}  // namespace wq::slices_program
