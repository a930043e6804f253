// Polls for the worker's shell, whichever one is the present one: what it answers and writes, and room for
// what it is to read.
#pragma once

#include "node/launcher/environment_shell.h"
#include "node/launcher/output_watch.h"
#include "node/process/poller.h"
#include "node/usage/leftovers.h"

namespace wq::node::launcher {

class ShellWatch {
  public:
    ShellWatch(EnvironmentShell& shell, process::Poller& poller, OutputWatch& outputs,
               usage::Leftovers& leftovers);

    // One of the shell's descriptors in the poller.
    void ready(process::Source source);
    // Call it after anything that may have started a new shell or given it more to read.
    void look();

  private:
    EnvironmentShell& shell_;
    process::Poller& poller_;
    OutputWatch& outputs_;
    usage::Leftovers& leftovers_;
    std::uint64_t generation_ = 0;  // of the shell that is watched
    bool script_in_poller_ = false;
};

}  // namespace wq::node::launcher
