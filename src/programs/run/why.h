// `--why LINE`: explains why the task of a line does not run, or how it ended.
#pragma once

#include <string>

#include "base/result.h"
#include "programs/run/run_options.h"

namespace wq::programs::run {

// Returns one line without a newline, from the live run in the run directory or from its journal. Errors:
// bad_input (no run there, no such line), and those of ask_why().
Result<std::string> why(const RunOptions& options, std::uint64_t line);

}  // namespace wq::programs::run
