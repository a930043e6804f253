// Failed system calls on a list's files, as errors in one line with the remedy.
#pragma once

#include <cerrno>
#include <string>

#include "base/result.h"

namespace wq::shared_list::store {

// "cannot WHAT PATH: REASON; REMEDY"
Error problem(const std::string& what, const std::string& path, int code = errno);

// The same for a change whose records the log has already: it may be complete, and must not be told as
// undone.
Error unfinished(Error error);

// What helps against an errno value; "": nothing special.
std::string remedy(int code);

}  // namespace wq::shared_list::store
