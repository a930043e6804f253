// Usage of an earlier run's tasks, read from the file in which a manager gathered their summaries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/model/events.h"

namespace wq::records::logs {

struct EarlierSummaries {
    std::map<std::string, std::vector<engine::model::CategorySample>>
        samples;          // by category; successful tasks only
    std::string warning;  // about skipped parts, one line; empty: nothing was skipped
};

// The file has JSON summaries, each starting at the beginning of a line. Anything else, such as half a
// summary left by a full disk, is skipped up to the next one. Error (bad_input): the file cannot be read, or
// has no summaries; the line names it.
Result<EarlierSummaries> read_summaries(const std::string& path);

}  // namespace wq::records::logs
