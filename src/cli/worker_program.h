// work_queue_worker: from its options to its exit code.
#pragma once

#include "cli/worker_options.h"
#include "host/functions.h"

namespace wq::cli {

// The whole command, with functions of a program on top. Prints its errors. Call it before any thread exists.
int worker_main(int argc, const char* const* argv, const host::FunctionTable& functions = {});

// --detect: prints what a worker would offer.
int detect_program(const WorkerCommand& command);

int worker_program(const WorkerProgramOptions& options, const host::FunctionTable& functions);

}  // namespace wq::cli
