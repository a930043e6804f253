// Two runs side by side: makespan, rate, account, categories and slowest tasks.
#pragma once

#include <string>

#include "views/report/reported_run.h"

namespace wq::views::report {

// Lines of at most 100 bytes, safe for a terminal. The last column is the change from the first run to the
// second.
std::string comparison_text(const ReportedRun& first, const ReportedRun& second);

}  // namespace wq::views::report
