// Reads and copies whole ranges of files; all return whether it succeeded, else errno says why.
#pragma once

#include <cstdint>
#include <string>

namespace wq::shared_list::store {

// Bytes [from, to); fewer if the file ends before.
bool read_range(int file, std::uint64_t from, std::uint64_t to, std::string& bytes);
// Appends bytes [from, to) of `source` to `file` at its offset, without their way through this process where
// the file system can do that.
bool copy_range(int source, std::uint64_t from, std::uint64_t to, int file);

}  // namespace wq::shared_list::store
