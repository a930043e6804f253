// `--status RUN`: how far a run is, from anywhere.
#pragma once

#include <string>

#include "base/result.h"
#include "programs/run/run_options.h"

namespace wq::programs::run {

// `run`: its list or directory, or its contact file, over which its manager is asked. Returns a line, or with
// `json` an object. Errors: bad_input (neither), unreachable, not_allowed.
Result<std::string> run_status(const std::string& run, bool json);

// The contact file by which the manager of such a run is asked. Errors: bad_input (no run), unreachable (it
// does not listen, or has ended).
Result<std::string> contact_of_run(const std::string& run);

// `--why LINE`: explains why the task of a line does not run, or how it ended.

// Returns one line without a newline, from the live run in the run directory or from its journal. Errors:
// bad_input (no run there, no such line), and those of ask_why().
Result<std::string> why(const RunOptions& options, std::uint64_t line);

}  // namespace wq::programs::run
