// The text statistics log of the manual: a line `# timestamp workers_connected ...`, then a row of numbers
// per sample. time_when_started stands where the manual's example has it, behind tasks_exhausted_attempts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "records/records.h"
#include "stats/schema.h"

namespace wq::stats {

std::string stats_log_heading();
void put_stats_line(std::string& out, const records::Sample& sample);

// Reads such a log, ours or of another Work Queue: columns are found by their names in the heading, those
// unknown here are passed over, those it lacks are 0; the manual's own names of four columns are taken too. A
// torn last row is passed over. Errors (bad_input, with file and line): no heading within the first 10 lines,
// or a damaged row.
Result<std::vector<ManagerRow>> read_stats_log(std::string_view text, const std::string& name);

}  // namespace wq::stats
