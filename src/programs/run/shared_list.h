// The source of `--shared-list`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "manager/task_table.h"
#include "programs/run/run_options.h"
#include "shared_list/source/shared_source.h"

namespace wq::programs::run {

// `ranks`: how many will be workers. `say`: see shared_list::source::SharedSource. Error usage: the list's
// place makes no sense.
Result<std::unique_ptr<shared_list::source::SharedSource>> open_shared_list(
    const RunOptions& options, std::size_t ranks, manager::TaskTable& tasks,
    std::function<void(const std::string&)> say);

}  // namespace wq::programs::run
