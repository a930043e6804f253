// `work_queue_status --watch RUN`: a run on a full screen, live or ended.
#pragma once

#include <string>

#include "base/result.h"

namespace wq::programs::status {

// `run`: a run directory, its list, or its stats.h5. Without a terminal it prints the overview once. Returns
// when the user quits, or at a signal that ends programs; the terminal is then as before. Errors: bad_input
// (no run there), refused.
Status watch_run(const std::string& run);

}  // namespace wq::programs::status
