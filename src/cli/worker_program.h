// work_queue_worker: from its options to its exit code.
#pragma once

#include "cli/worker_options.h"

namespace wq::cli {

// Call it before any thread exists.
int worker_program(const WorkerProgramOptions& options);

}  // namespace wq::cli
