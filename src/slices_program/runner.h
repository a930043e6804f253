// Runs the command of a slice, with its records on stdin.
#pragma once

#include <string>
#include <vector>

#include "process/spawn.h"
#include "process/task_environment.h"
#include "slices_program/group_end.h"
#include "slices_program/records_feed.h"
#include "work_queue/slice_queue.h"

namespace wq::slices_program {

class Runner {
  public:
    // `command`: each {} in it becomes the name of the slice. `rank`: SLICE_RANK.
    Runner(std::vector<std::string> command, int rank);
    // Waits until the command has ended. Returns "", or what is wrong: "exit code 3", "killed by SIGSEGV",
    // why it cannot be run, or why its records cannot be read.
    std::string run(const Slice& slice, RecordsFeed& records);

  private:
    std::vector<std::string> command_;
    std::string rank_;
    process::BaseEnvironment environment_;  // without what makes a process a rank
    process::ChildStack stack_;
    GroupEnd group_end_;
};

}  // namespace wq::slices_program
