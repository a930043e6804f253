// RUN_DIR/failed.sh: a task list of what failed for good, which does just that again when it is run as it is.
// Each line stands under its `#WQ` settings (with those of the command line) and the `#!` lines that stood
// above it.
#pragma once

#include <string>

#include "base/interval_set.h"
#include "manager/task_table.h"

namespace wq::manager {

// `skipped`: how many tasks could not run, of which the list only says that they are not in it.
// `index_variable`: a further name of WORK_QUEUE_TASK_INDEX; empty: none.
std::string failed_list(const TaskTable& tasks, const IntervalSet& failed, std::uint64_t skipped,
                        const std::string& list_name, const std::string& index_variable);

}  // namespace wq::manager
