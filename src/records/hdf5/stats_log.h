// The text statistics log of the manual: a line `# timestamp workers_connected ...`, then a row of numbers
// per sample. time_when_started follows tasks_exhausted_attempts, as in the manual's example. The manual's
// own names of four columns come last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "records/hdf5/schema.h"
#include "records/journal/records.h"

namespace wq::records::hdf5 {

std::string stats_log_heading();
void put_stats_line(std::string& out, const journal::Sample& sample);

// Reads a log of this or another Work Queue. Columns are found by their names in the heading; the manual's
// own names of four columns are accepted, too. Unknown columns are skipped; missing ones are 0. A torn last
// row is skipped. Errors (bad_input, with file and line): no heading within the first 10 lines, or a damaged
// row.
Result<std::vector<ManagerRow>> read_stats_log(std::string_view text, const std::string& name);

}  // namespace wq::records::hdf5
