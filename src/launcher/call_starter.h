// From an order that calls a function to a forked process, and from its end to its result.
//
// The launcher has one thread, so what it forks can do all that a process can. The result comes in a piece of
// memory that both have: no pipe that could fill up, and nothing of it counts before it is whole.
#pragma once

#include <sys/resource.h>

#include <string>

#include "launcher/task_starter.h"
#include "process/fetch_url.h"
#include "process/functions.h"

namespace wq::launcher {

class CallStarter {
  public:
    // `functions`: null: there are none. `files`: RLIMIT_NOFILE for calls; nullptr: ours.
    CallStarter(const process::FunctionTable* functions, const rlimit* files)
        : functions_(functions), files_(files) {}

    TaskStarter::Result start(Lane& lane, const machine::CpuMask& mask, char* const* envp);

    // Of a call whose process has ended: what it gave, where lane.outcome is a success; which is no success
    // any more where the function threw, or its process ended before it returned.
    static std::string take_result(Lane& lane);

  private:
    // Null: nobody knows it.
    const process::FunctionTable* table_of(const std::string& name) const;
    [[noreturn]] void child_main(const Lane& lane, const machine::CpuMask& mask, char* const* envp) const;

    const process::FunctionTable* functions_;
    const process::FunctionTable built_in_ = process::built_in_functions();
    const rlimit* files_;
};

}  // namespace wq::launcher
