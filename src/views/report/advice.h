// What a user should change, made from the figures of a run.
#pragma once

#include <string>
#include <vector>

#include "views/report/reported_run.h"

namespace wq::views::report {

inline constexpr std::size_t most_advice = 3;

// At most most_advice sentences of at most 190 bytes, safe for a terminal; those about the most core time
// first. None: nothing of at least a twentieth of the core time can be saved, or the run had less than a
// core-minute.
std::vector<std::string> advice_of(const ReportedRun& reported);

}  // namespace wq::views::report
