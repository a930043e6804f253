// Copies appended data of a growing file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "files/trees/problem.h"

namespace wq::files::trees {

// The bytes appended to `path` after `offset`, at most `most`. `shrunk`: it is not a growing file.
struct FileGrowth {
    std::string bytes;
    bool shrunk = false;
};
FileGrowth growth_of(const std::string& path, std::uint64_t offset, std::size_t most);

// Writes `bytes` at `offset`. Offset 0 replaces `path` by a new file, and creates its folder if missing.
// Links are never followed.
Trouble write_growth(const std::string& path, std::uint64_t offset, std::string_view bytes);

}  // namespace wq::files::trees
