// Removes a file or whole folder, even if folders in it forbid that to their owner.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wq {

// `name` in the folder `at` (AT_FDCWD: a path). No link is followed. What cannot be removed stays.
void remove_tree(int at, const std::string& name);

// The same, but no more than `most` of what is in it, which is less by what was removed. False: there is
// more.
bool remove_some(int at, const std::string& name, std::size_t& most);

// A folder, in which `last` is removed only after everything else was.
void remove_folder(const std::string& path, std::string_view last);

}  // namespace wq
