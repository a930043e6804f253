// Reads a transactions log of this or another Work Queue.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "views/attempts.h"

namespace wq::views {

// Lines about other things are skipped, and so is a torn last line. An attempt that was running when its
// manager ended has the outcome "lost", one that was running at the end of the log "running". Errors
// (bad_input, with file and line): a line that is no record, a record that lacks a word.
Result<Attempts> read_transactions(std::string_view text, const std::string& name);

}  // namespace wq::views
