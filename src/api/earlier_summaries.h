// What tasks of an earlier run took, from the file in which a manager gathered their summaries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/events.h"

namespace wq::api {

// By category, of those that succeeded. Summaries stand one behind the other, as JSON. Error (bad_input): the
// file cannot be read, or holds something else; the line names it.
Result<std::map<std::string, std::vector<core::CategorySample>>> read_summaries(const std::string& path);

}  // namespace wq::api
