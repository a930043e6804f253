// Turns an order into a running process: finds the file, builds the arguments, and describes why it cannot be
// executed.
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

#include "node/launcher/lane.h"
#include "node/process/fetch_url.h"
#include "node/process/functions.h"
#include "node/process/path_lookup.h"
#include "node/process/spawn.h"

namespace wq::node::launcher {

class TaskStarter {
  public:
    // `files`: RLIMIT_NOFILE for tasks; nullptr: ours.
    TaskStarter(std::string shell, std::string path, const rlimit* files)
        : shell_(std::move(shell)), lookup_(std::move(path)), files_(files) {}

    enum class Result : std::uint8_t {
        started,     // lane.pid is set
        try_later,   // a resource is short now; lane.outcome says which, if waiting is futile
        impossible,  // lane.outcome says why
    };
    // Waits for the exec only if the task is watched, because until then its memory is ours. Otherwise the
    // exec may still fail after this returns: its process then ends, and lane.execution.stack.failure() says
    // why.
    Result start(Lane& lane, const machine::CpuMask& mask, char* const* envp);
    // After such a failure: tries another way, if there is one. It waits for the exec.
    Result go_on(Lane& lane) { return go_on(lane, lane.execution.stack.failure()); }

    // Result::try_later, because `reason` is short.
    static Result put_off(Lane& lane, std::string reason);

  private:
    Result start_words(Lane& lane, process::Until until);
    Result start_line(Lane& lane, process::Until until);
    Result run(Lane& lane, process::Until until, int keep = -1);
    Result go_on(Lane& lane, const process::Spawned& failure);
    static Result refuse(Lane& lane, int exit_code, std::string reason);
    static Result give_up(Lane& lane, std::string reason);
    process::PathLookup::Found locate(const Lane& lane);
    static void point_to(Lane& lane, std::size_t from);

    std::string shell_;
    process::PathLookup lookup_;
    const rlimit* files_;
};

// Starts a forked process for an order that calls a function, and takes the result after the process ends.
//
// The launcher's loop forks it while its other threads wait or hold nothing (lane.h), so the child may do
// anything. The result comes in shared memory: there is no pipe that could fill up, and a result counts only
// when it is complete.
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
