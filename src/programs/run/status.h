// `--status RUN`: how far a run is, from anywhere.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::programs::run {

// `run`: its list or directory, or its contact file, over which its manager is asked. Returns a line, or with
// `json` an object. Errors: bad_input (neither), unreachable, not_allowed.
Result<std::string> run_status(const std::string& run, bool json);

// The contact file by which the manager of such a run is asked. Errors: bad_input (no run), unreachable (it
// does not listen, or has ended).
Result<std::string> contact_of_run(const std::string& run);

}  // namespace wq::programs::run
