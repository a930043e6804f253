// The figures of a run as JSON, for programs. share/doc/reports.md describes the keys.
#pragma once

#include "base/json.h"
#include "views/report/reported_run.h"

namespace wq::views::report {

// Units are in the keys. null: not recorded. Names are as the run has them: dump(2, true) is safe for a
// terminal.
Json json_report(const ReportedRun& reported);

// With null for the tables of categories and hosts, which may be long.
Json json_summary(const ReportedRun& reported);

}  // namespace wq::views::report
