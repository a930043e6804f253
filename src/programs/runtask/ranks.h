// `mpirun runtask FILE` and `runtask --serve FILE`: work_queue_run gives the lines to ranks and to workers
// over TCP. runtask itself stays one file without MPI.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "programs/runtask/options.h"

namespace wq::programs::runtask {

// Whether a launcher has started this process as one of several, or the lines are for other workers.
bool needs_manager(const Options& options);

// The command line of work_queue_run for it. Error usage: an option of a single worker.
Result<std::vector<std::string>> manager_command(const Options& options);

// Becomes work_queue_run, which is looked for beside this program, and then in PATH. Returns why it cannot.
Error become_manager(const Options& options);

}  // namespace wq::programs::runtask
