// A task's number wherever a user reads or types it: joblog.tsv (Seq), transactions.log, output.log,
// stats.h5, `--output`. Numbers start at 1, as in GNU parallel and Work Queue; ids start at 0.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace wq::records::journal {

// A task of an earlier run that is not in the list any more has number 0.
inline constexpr TaskId not_listed{~std::uint64_t{0}};

constexpr std::uint64_t task_number(TaskId task) {
    return task.value() + 1;
}

}  // namespace wq::records::journal
