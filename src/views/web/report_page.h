// All that is known of a run as one HTML file, with its figures, tables, timeline and account. The file
// refers to nothing outside of it.
#pragma once

#include <string>
#include <string_view>

#include "views/report/reported_run.h"

namespace wq::views::web {

// At most 3 MB, of any number of attempts (page_data.h).
std::string report_page(const report::ReportedRun& reported);

// timeline.js, columns.js, tables.js, charts.js and report.js; report.css; Chart.js, or nothing without it.
extern const std::string_view report_script;
extern const std::string_view report_style;
extern const std::string_view chart_script;

// The hashes by which its Content-Security-Policy allows these: nothing else runs.
extern const std::string_view report_script_sources;
extern const std::string_view report_style_source;

}  // namespace wq::views::web
