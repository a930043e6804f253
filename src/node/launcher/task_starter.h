// Turns an order into a running process: finds the file, builds the arguments, and describes why it cannot be
// executed.
#pragma once

#include <string>
#include <vector>

#include "node/launcher/lane.h"
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

}  // namespace wq::node::launcher
