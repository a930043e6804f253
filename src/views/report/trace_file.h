// A run in Chrome's trace event format, for https://ui.perfetto.dev and chrome://tracing.
//
// A process is a worker, a thread is a lane of it: attempts of one lane do not overlap, so that a worker has
// as many lanes as attempts ran there side by side. An attempt is a complete event ("X"); `ts` and `dur` are
// microseconds since the run's begin, `cat` is its category, `args` has task, attempt, line, calls, cores and
// ending.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "views/model/run_view.h"

namespace wq::views::report {

// A million attempts need 20 bytes each, and no memory for their text.
Status write_trace(const std::string& path, const model::RunView& run);

// Attempts that ran, by worker and begin; those whose worker is not known come last.
struct LaneEntry {
    std::uint32_t attempt = 0;  // place in RunView::attempts
    std::uint32_t lane = 0;     // from 0
};
// `overlap`: attempts of one lane may overlap by so much of the earlier one, a quarter at most: the next
// begins when a process has ended, and its end is reported a little later.
std::vector<LaneEntry> lanes_of(const model::RunView& run, WallMicros overlap = 0);

}  // namespace wq::views::report
