// Reads and copies whole ranges of files; all return whether it succeeded, else errno says why.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace wq::shared_list::store {

// Bytes [from, to); fewer if the file ends before.
bool read_range(int file, std::uint64_t from, std::uint64_t to, std::string& bytes);
// Appends bytes [from, to) of `source` to `file` at its offset, without their way through this process where
// the file system can do that.
bool copy_range(int source, std::uint64_t from, std::uint64_t to, int file);

// Failed system calls on a list's files, as errors in one line with the remedy.

// "cannot WHAT PATH: REASON; REMEDY"
Error problem(const std::string& what, const std::string& path, int code = errno);

// The same for a change whose records the log has already: it may be complete, and must not be told as
// undone.
Error unfinished(Error error);

// What helps against an errno value; "": nothing special.
std::string remedy(int code);

}  // namespace wq::shared_list::store
