// How a task is called wherever a user reads or types it: joblog.tsv (Seq), transactions.log, output.log,
// stats.h5,
// `--output`. Counted from 1, as GNU parallel and Work Queue do; ids count from 0.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace wq::stats {

// Of an earlier run, and no more in the list: number 0.
inline constexpr TaskId not_listed{~std::uint64_t{0}};

constexpr std::uint64_t task_number(TaskId task) {
    return task.value() + 1;
}

}  // namespace wq::stats
