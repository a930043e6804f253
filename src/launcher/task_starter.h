// From an order to a running process: which file with which words, and what to say when that cannot be
// executed.
#pragma once

#include <string>
#include <vector>

#include "launcher/lane.h"
#include "process/path_lookup.h"
#include "process/spawn.h"

namespace wq::launcher {

class TaskStarter {
  public:
    // `files`: RLIMIT_NOFILE for tasks; nullptr: ours.
    TaskStarter(std::string shell, std::string path, const rlimit* files)
        : shell_(std::move(shell)), lookup_(std::move(path)), files_(files) {}

    enum class Result : std::uint8_t {
        started,     // lane.pid is set
        try_later,   // something is lacking at the moment; if that is futile, lane.outcome says why
        impossible,  // lane.outcome says why
    };
    // Waits for the exec only where the task is watched: until then its memory is ours. Else it may yet fail
    // after it was started: then its process has ended, and lane.execution.stack.failure() says so.
    Result start(Lane& lane, const machine::CpuMask& mask, char* const* envp);
    // For such a one: another try where there is another way. It waits.
    Result go_on(Lane& lane) { return go_on(lane, lane.execution.stack.failure()); }

    // Result::try_later, for want of what `reason` names.
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

}  // namespace wq::launcher
