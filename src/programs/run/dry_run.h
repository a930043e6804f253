// --dry-run: runs the real manager and list with workers that only print where a task would run.
#pragma once

#include <string>
#include <vector>

#include "programs/run/run_options.h"

namespace wq::programs::run {

// `hellos`: each rank's hello to the manager (net/messages/messages.h), empty for a rank that runs no tasks.
// Prints to stdout and returns the exit code. Throws Failure for bad input.
int dry_run(const RunOptions& options, const std::vector<std::string>& hellos);

}  // namespace wq::programs::run
