// What a launcher process is told when it is opened.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "node/machine/slice.h"

namespace wq::node::launcher {

struct LauncherOptions {
    machine::Slice slice;
    std::string shell;              // absolute path; runs lines that need a shell, as `shell -c LINE`
    std::string scratch;            // folder for the tasks' temporary directories (TMPDIR), made if missing;
                                    // empty: TMPDIR is unchanged
    std::string working_directory;  // empty: the one at start()
    std::vector<std::pair<std::string, std::string>> environment;  // set for every task, e.g. WORKERID
    std::uint64_t output_limit =
        8u << 20;  // bytes kept of each stream of a task; the rest is counted and marked
    // The list may have `#!` lines. A task below one runs in a subshell of the worker's shell.
    bool environment_lines = false;
    // Tasks run in the launcher's own folder below `scratch` instead of working_directory. WORK_QUEUE_SANDBOX
    // has its path. The files they leave there are removed with the folder.
    bool work_in_scratch = false;
};

}  // namespace wq::node::launcher
