// Removes a file, or a folder with all in it, also where folders in it forbid that to their owner.
#pragma once

#include <cstddef>
#include <string>

namespace wq::files {

// `name` in the folder `at` (AT_FDCWD: a path). No link is followed. What cannot be removed stays.
void remove_tree(int at, const std::string& name);

// The same, but no more than `most` of what is in it, which is less by what was removed. False: there is
// more.
bool remove_some(int at, const std::string& name, std::size_t& most);

}  // namespace wq::files
