// Removes a file, or a folder with all in it, also where folders in it forbid that to their owner.
#pragma once

#include <string>

namespace wq::files {

// `name` in the folder `at` (AT_FDCWD: a path). No link is followed. What cannot be removed stays.
void remove_tree(int at, const std::string& name);

}  // namespace wq::files
