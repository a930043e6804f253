// Failed system calls on a list's files, as errors in one line with the remedy.
#pragma once

#include <cerrno>
#include <string>

#include "base/result.h"

namespace wq::list_store {

// "cannot WHAT PATH: REASON; REMEDY"
Error problem(const std::string& what, const std::string& path, int code = errno);

// What helps against an errno value; "": nothing special.
std::string remedy(int code);

}  // namespace wq::list_store
