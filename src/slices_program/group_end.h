// Ends what a lost rank leaves running. The kernel kills a rank's command with the rank, but not what the
// command has started; and mpirun waits for all who hold its output. So each rank has a process beside it
// that kills the command's process group when the rank is gone.
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
    GroupEnd();                     // starts it; without it, a command's children may outlive a lost rank
    ~GroupEnd();                    // ends it
    void watch(pid_t group) const;  // 0: none

  private:
    process::ChildStack stack_;
    Descriptor pipe_;
    pid_t pid_ = -1;
};

// That process: reads groups from stdin until its end.
int end_group_of_lost_rank();

}  // namespace wq::slices_program
