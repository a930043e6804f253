// Converts statistics for C programs.
#pragma once

#include "cctools/work_queue_stats.h"
#include "work_queue/statistics.h"

namespace wq::bindings::c {

work_queue_stats figures(const Statistics& from);

}  // namespace wq::bindings::c
