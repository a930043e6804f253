// From an order to a running process: which file with which words, and what to say when that cannot be
// executed.
#pragma once

#include <string>
#include <vector>

#include "host/lane.h"
#include "host/path_lookup.h"
#include "host/spawn.h"

namespace wq::host {

class TaskStarter {
  public:
    // `files`: RLIMIT_NOFILE for tasks; nullptr: ours.
    TaskStarter(std::string shell, std::string path, const rlimit* files)
        : shell_(std::move(shell)), lookup_(std::move(path)), files_(files) {}

    enum class Result : std::uint8_t {
        started,     // lane.pid is set
        try_later,   // no process can be forked at the moment
        impossible,  // lane.outcome says why
    };
    Result start(Lane& lane, const CpuMask& mask, char* const* envp);

  private:
    Result start_words(Lane& lane, const CpuMask& mask, char* const* envp);
    Result start_line(Lane& lane, const CpuMask& mask, char* const* envp);
    Result run(Lane& lane, const CpuMask& mask, char* const* envp, const std::string& file, int keep);
    Result refuse(Lane& lane, int exit_code, std::string reason) const;
    PathLookup::Found locate(const Lane& lane);
    void point_to(const std::vector<std::string>& words, std::size_t from);

    std::string shell_;
    PathLookup lookup_;
    const rlimit* files_;
    ChildStack stack_;
    std::vector<char*> argv_;
    int last_error_ = 0;
};

}  // namespace wq::host
