// Explains why a task has no kept output.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "records/journal/records.h"

namespace wq::manager::report {

// Success if the task ended without output. Errors (bad_input): no such task, it has not ended, its output is
// lost. `key` identifies the task, whatever its number was when it ran.
Status check_wrote_nothing(const std::string& run_directory, TaskId task,
                           std::optional<records::journal::TaskKey> key);

}  // namespace wq::manager::report
