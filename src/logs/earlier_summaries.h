// What tasks of an earlier run took, from the file in which a manager gathered their summaries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/events.h"

namespace wq::logs {

struct EarlierSummaries {
    std::map<std::string, std::vector<core::CategorySample>> samples;  // by category, of those that succeeded
    std::string warning;  // of what was passed over, one line; empty: nothing was
};

// Summaries stand one behind the other, as JSON, each from the beginning of a line. What is none, such as the
// half of one that a full disk has left, is passed over to the next. Error (bad_input): the file cannot be
// read, or holds something else only; the line names it.
Result<EarlierSummaries> read_summaries(const std::string& path);

}  // namespace wq::logs
