// The report on an attempt in the format of Work Queue's resource monitor: JSON, each measured value as
// [number, "unit"]; unmeasured values are omitted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"
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

// FOLDER/wq-PID-task-NUMBER.summary; NUMBER: see records.h. `kind`: another ending.
std::string resource_summary_path(const std::string& folder, std::int64_t manager_pid,
                                  std::uint64_t task_number, const char* kind = "summary");
// Writes the complete file or nothing, replacing an earlier one. Creates the folder if missing. Errors:
// not_allowed, interrupted (a full disk); the message names the file.
Status write_resource_summary(const std::string& folder, std::int64_t manager_pid, std::uint64_t task_number,
                              std::string_view text, const char* kind = "summary");

// The usage of an attempt and the limits it exceeded, with the names and units of Work Queue's resource
// monitor. For the transactions log and for reports on tasks.
struct Quantity {
    std::string_view name;
    std::int64_t amount = 0;  // in 1/parts of the unit, not negative
    std::int64_t parts = 1;   // of a unit: 1, 1000 or 1'000'000
    std::string_view unit;
    bool operator==(const Quantity&) const = default;
};
using Quantities = std::vector<Quantity>;

// Only what was measured. If the process tree was not watched: the usage of the process and its reaped
// children.
Quantities quantities_of(const engine::model::Outcome& outcome);
// Of a tree at one time.
Quantities quantities_of(const engine::model::Usage& usage);
// When each peak was reached, under the names of the peaks.
Quantities times_of(const engine::model::Usage& peak_us);
// The limits for which it was killed; for the time limit, its run time.
Quantities exceeded_limits(const engine::model::Outcome& outcome, const engine::model::Resources& given);
// All specified amounts.
Quantities quantities_of(const engine::model::Sizes& sizes);

// `{"cores":[1.5,"cores"],"memory":[800,"MB"]}`
void put_quantities(std::string& out, const Quantities& quantities);

}  // namespace wq::records::journal
