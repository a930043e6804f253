// Explains why a task has no kept output.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "records/journal/output_log.h"
#include "records/journal/records.h"

namespace wq::manager::report {

// Success if the task ended without output. Errors (bad_input): no such task, it has not ended, its output is
// lost. `key` identifies the task, whatever its number was when it ran.
Status check_wrote_nothing(const std::string& run_directory, TaskId task,
                           std::optional<records::journal::TaskKey> key);

// `--output RUN TASK`: prints the output of a task.

// For a list, the task has this number in the list as the run last read it, even if the list was edited and
// the task ran under another number. For other sources, it is the last task that ran under this number.
// Attempt 0: it ended without output. Errors (bad_input): no run there, no such task, it has not ended, its
// output is lost.
Result<records::journal::TaskOutput> kept_output(const std::string& run_directory, TaskId task);

// False for --each and --array.
bool ran_a_list(const std::string& run_directory);

}  // namespace wq::manager::report
