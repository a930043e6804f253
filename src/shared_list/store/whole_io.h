// Reads and writes whole ranges of files; all return whether it succeeded, else errno says why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wq::shared_list::store {

// Bytes [from, to); fewer if the file ends before.
bool read_range(int file, std::uint64_t from, std::uint64_t to, std::string& bytes);
bool write_all(int file, std::string_view bytes);
// Appends bytes [from, to) of `source` to `file` at its offset, without their way through this process where
// the file system can do that.
bool copy_range(int source, std::uint64_t from, std::uint64_t to, int file);
// The names in a folder that was renamed in or out of are on the disk.
bool sync_folder(const std::string& path);

}  // namespace wq::shared_list::store
