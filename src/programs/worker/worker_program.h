// work_queue_worker: from its options to its exit code.
#pragma once

#include "node/process/functions.h"
#include "programs/worker/worker_options.h"

namespace wq::programs::worker {

// The whole command, plus a program's functions. Prints its errors. Call it before any thread starts.
int worker_main(int argc, const char* const* argv, const node::process::FunctionTable& functions = {});

// --detect: prints what a worker would offer.
int detect_program(const WorkerCommand& command);

int run_worker(const WorkerProgramOptions& options, const node::process::FunctionTable& functions);

}  // namespace wq::programs::worker
