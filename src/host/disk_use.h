// How much lies below folders: the blocks of files and folders, each file once whatever names it has.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wq::host {

struct DiskUse {
    std::int64_t bytes = 0;
    std::int64_t files = 0;  // and folders, but not those that were given
};

// Links are not followed, and other file systems that are mounted below not entered. `go_on` is asked after
// each entry with what was found so far; where it says no, that is the answer.
DiskUse disk_use(const std::vector<std::string>& folders, const std::function<bool(const DiskUse&)>& go_on);

}  // namespace wq::host
