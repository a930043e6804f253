// One rank of work_queue_slices.
#pragma once

#include "slices_program/options.h"
#include "work_queue/mpi.h"

namespace wq::slices_program {

// Returns the exit code of the rank.
int take_slices(MpiSession& mpi, const Options& options);

}  // namespace wq::slices_program
