// One rank of work_queue_run, from its start to its exit code.
#pragma once

#include "cli/run_options.h"
#include "mpi/guard.h"

namespace wq::cli {

// Starts the launcher, MPI, divides the node, then manages (rank 0) or works (the others).
// `command_line`: as the user gave it, for "To continue, run: ...".
int rank_main(const RunOptions& options, const std::vector<std::string>& command_line, mpi::GuardLink& guard);

}  // namespace wq::cli
