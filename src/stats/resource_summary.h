// The report on one attempt as Work Queue's resource monitor writes it: JSON, each measured value as
// [number, "unit"]; what nobody measured is left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "stats/records.h"

namespace wq::stats {

// What a TaskRecord does not say itself.
struct SummaryNames {
    std::string_view category;
    std::string_view command;
    std::string_view host;  // empty: not told
};
// Ends in a newline. What is no UTF-8 is replaced.
std::string resource_summary(const TaskRecord& record, const SummaryNames& names);

// FOLDER/wq-PID-task-NUMBER.summary; NUMBER: see task_number.h.
std::string resource_summary_path(const std::string& folder, std::int64_t manager_pid,
                                  std::uint64_t task_number);
// The whole file or nothing, in place of an earlier one. The folder is made where it is missing. Errors:
// not_allowed, interrupted (a full disk); the line says which file.
Status write_resource_summary(const std::string& folder, std::int64_t manager_pid, std::uint64_t task_number,
                              std::string_view json);

}  // namespace wq::stats
