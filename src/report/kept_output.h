// `--output RUN_DIR TASK`: prints the output of a task.
#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "records/output_log.h"

namespace wq::report {

// The task is the one of that number in the list as the run last read it, also when the list was edited
// between its runs and the line had another number as it ran. Of other sources it is the last one that ran
// under that number. Attempt 0 where it ended without a word. Errors (bad_input): no run there, no such task,
// it has not ended, its output is lost.
Result<records::TaskOutput> kept_output(const std::string& run_directory, TaskId task);

// Not --each or --array.
bool ran_a_list(const std::string& run_directory);

}  // namespace wq::report
