// Starts a forked process for an order that calls a function, and takes the result after the process ends.
//
// The launcher's loop forks it while its other threads wait or hold nothing (starters.h), so the child may do
// anything. The result comes in shared memory: there is no pipe that could fill up, and a result counts only
// when it is complete.
#pragma once

#include <sys/resource.h>

#include <string>

#include "node/launcher/task_starter.h"
#include "node/process/fetch_url.h"
#include "node/process/functions.h"

namespace wq::node::launcher {

class CallStarter {
  public:
    // `functions`: null if there are none. `files`: RLIMIT_NOFILE for calls; nullptr: ours.
    CallStarter(const process::FunctionTable* functions, const rlimit* files)
        : functions_(functions), files_(files) {}

    TaskStarter::Result start(Lane& lane, const machine::CpuMask& mask, char* const* envp);

    // Returns the result of a call whose process has ended, if lane.outcome is a success. Changes
    // lane.outcome if the function threw, or its process ended before the function returned.
    static std::string take_result(Lane& lane);
    // Whether the result of a running call is written.
    static bool has_result(const Lane& lane);

  private:
    // Null if the function is unknown.
    const process::FunctionTable* table_of(const std::string& name) const;
    [[noreturn]] void child_main(const Lane& lane, const machine::CpuMask& mask, char* const* envp) const;

    const process::FunctionTable* functions_;
    const process::FunctionTable built_in_ = process::built_in_functions();
    const rlimit* files_;
};

}  // namespace wq::node::launcher
