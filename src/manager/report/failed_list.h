// RUN_DIR/failed.sh: a task list that runs exactly the failed tasks again. Each line follows its `#WQ`
// settings (with those of the command line) and the `#!` lines that were above it.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "manager/failures.h"
#include "manager/task_table.h"

namespace wq::manager::report {

// `skipped`: number of tasks that could not run; the list only mentions that it lacks them. `index_variable`:
// another name of WORK_QUEUE_TASK_INDEX; empty: none.
std::string failed_list(const manager::TaskTable& tasks, const IntervalSet& failed, std::uint64_t skipped,
                        const std::string& list_name, const std::string& index_variable);

// RUN_DIR/never_ran: the tasks that could never run, and why. `--why` reads it after the run.

// Replaces the file of an earlier run; without such tasks there is none.
Status write_never_ran(const std::string& run_directory, const manager::Failures& failures);

// Nothing: it could run, or its reason was not kept.
std::optional<std::string> why_never_ran(const std::string& run_directory, TaskId task);

}  // namespace wq::manager::report
