// RUN_DIR/never_ran: the tasks that could never run, and why. `--why` reads it after the run.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "manager/failures.h"

namespace wq::manager::report {

// Replaces the file of an earlier run; without such tasks there is none.
Status write_never_ran(const std::string& run_directory, const manager::Failures& failures);

// Nothing: it could run, or its reason was not kept.
std::optional<std::string> why_never_ran(const std::string& run_directory, TaskId task);

}  // namespace wq::manager::report
