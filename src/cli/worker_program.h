// work_queue_worker: from its options to its exit code.
#pragma once

#include "cli/worker_options.h"
#include "process/functions.h"

namespace wq::cli {

// The whole command, plus a program's functions. Prints its errors. Call it before any thread starts.
int worker_main(int argc, const char* const* argv, const process::FunctionTable& functions = {});

// --detect: prints what a worker would offer.
int detect_program(const WorkerCommand& command);

int worker_program(const WorkerProgramOptions& options, const process::FunctionTable& functions);

}  // namespace wq::cli
