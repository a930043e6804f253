// Runs the command of a slice, with its records on stdin.
#pragma once

#include <string>
#include <vector>

#include "node/process/command_host.h"
#include "programs/slices/records_feed.h"
#include "work_queue/slice_queue.h"

namespace wq::programs::slices {

class Runner {
  public:
    // `command`: each {} in it becomes the name of the slice. `rank`: SLICE_RANK.
    Runner(std::vector<std::string> command, int rank);
    // Waits until the command has ended. Returns "", or what is wrong: "exit code 3", "killed by SIGSEGV",
    // why it cannot be run, or why its records cannot be read.
    std::string run(const Slice& slice, RecordsFeed& records);
    // "": the command is there, or its name is that of the slice; or why it cannot be run.
    std::string problem() const;
    void stop() { host_.stop(); }  // on any thread: ends the command, and runs no other

  private:
    node::process::CommandLine line_of(const Slice& slice) const;

    std::vector<std::string> command_;
    std::string rank_;
    std::vector<std::string> environment_;  // without what makes a process a rank, or is of a slice
    std::string path_;
    node::process::CommandHost host_;
};

}  // namespace wq::programs::slices
