// One rank of work_queue_run, from its start to its exit code.
#pragma once

#include "programs/run/run_options.h"
#include "ranks/mpi/guard.h"

namespace wq::programs::run {

// Starts the launcher and MPI, divides the node, then manages (rank 0) or works (other ranks).
// `command_line`: the user's command, for "To continue, run: ...".
int rank_main(const RunOptions& options, const std::vector<std::string>& command_line,
              ranks::mpi::GuardLink& guard);

}  // namespace wq::programs::run
