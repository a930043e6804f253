// Copies appended data of a growing file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "files/problem.h"

namespace wq::files {

// What was appended to `path` behind `offset`, at most `most` bytes. Shrunk: it is no file that grows.
struct Growth {
    std::string bytes;
    bool shrunk = false;
};
Growth growth_of(const std::string& path, std::uint64_t offset, std::size_t most);

// Puts `bytes` there. Offset 0 begins a file of its own in place of what has the name, whose folder is made
// if missing; a link is never followed.
Trouble write_growth(const std::string& path, std::uint64_t offset, std::string_view bytes);

}  // namespace wq::files
