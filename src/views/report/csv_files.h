// A run as tables for spreadsheets and data frames: attempts.csv, workers.csv, account.csv, categories.csv
// and waiting.csv.
//
// RFC 4180, except that lines end with a newline alone. The first row names the columns, with their units. An
// empty field: not recorded. Control characters in names are \xNN, so that a table can be printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "views/report/reported_run.h"

namespace wq::views::report {

// Makes the directory if it is missing, and replaces earlier files. Returns the paths of the files. A million
// attempts are written without their text in memory.
Result<std::vector<std::string>> write_csv_files(const std::string& directory, const ReportedRun& reported);

}  // namespace wq::views::report
