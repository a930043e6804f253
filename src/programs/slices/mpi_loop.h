// What a process of work_queue_slices does.
#pragma once

#include "programs/slices/options.h"
#include "work_queue/mpi.h"

namespace wq::programs::slices {

// As a rank. Returns its exit code.
int take_slices(MpiSession& mpi, const Options& options);
// As a worker.
int take_slices_of_other_run(const Options& options);

}  // namespace wq::programs::slices
