// RUN_DIR/failed.sh: a task list that runs exactly the failed tasks again. Each line follows its `#WQ`
// settings (with those of the command line) and the `#!` lines that were above it.
#pragma once

#include <string>

#include "base/interval_set.h"
#include "manager/task_table.h"

namespace wq::manager::report {

// `skipped`: number of tasks that could not run; the list only mentions that it lacks them. `index_variable`:
// another name of WORK_QUEUE_TASK_INDEX; empty: none.
std::string failed_list(const manager::TaskTable& tasks, const IntervalSet& failed, std::uint64_t skipped,
                        const std::string& list_name, const std::string& index_variable);

}  // namespace wq::manager::report
