// The report on an attempt in the format of Work Queue's resource monitor: JSON, each measured value as
// [number, "unit"]; unmeasured values are omitted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "records/journal/records.h"

namespace wq::records::journal {

// What a TaskRecord does not contain.
struct SummaryNames {
    std::string_view category;
    std::string_view command;
    std::string_view host;  // empty: omitted
};
// Ends in a newline. Invalid UTF-8 is replaced.
std::string resource_summary(const TaskRecord& record, const SummaryNames& names);

// Its time series as text: two comment lines with names and units of columns, then a line for each time. "":
// none.
std::string resource_series(const TaskRecord& record);

// FOLDER/wq-PID-task-NUMBER.summary; NUMBER: see task_number.h. `kind`: another ending.
std::string resource_summary_path(const std::string& folder, std::int64_t manager_pid,
                                  std::uint64_t task_number, const char* kind = "summary");
// Writes the complete file or nothing, replacing an earlier one. Creates the folder if missing. Errors:
// not_allowed, interrupted (a full disk); the message names the file.
Status write_resource_summary(const std::string& folder, std::int64_t manager_pid, std::uint64_t task_number,
                              std::string_view text, const char* kind = "summary");

}  // namespace wq::records::journal
