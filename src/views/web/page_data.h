// What a page of a run has in its <script id="data">: the figures of json_summary(), tables, and the
// attempts, workers and time series as columns of numbers (columns.h). columns.js reads them.
//
// A page stays below 3 MB: of more than most_bars attempts, it has the failed ones, the longest ones and
// every n-th of the others, and besides how busy each worker was in each of most_bins parts of the time; of
// more categories, hosts and workers than page_rows.h says, it has those with most core time.
#pragma once

#include <cstddef>

#include "base/json.h"
#include "views/report/reported_run.h"

namespace wq::views::web {

inline constexpr std::size_t most_bars = 40'000;
inline constexpr std::size_t most_bins = 1'000;
inline constexpr std::size_t most_points = 1'500;  // of a time series

Json page_data(const report::ReportedRun& reported);

}  // namespace wq::views::web
