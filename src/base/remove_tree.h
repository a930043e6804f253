// Removes a file or a whole folder, even if folders in it are write-protected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wq {

// Removes `name` in the folder `at` (AT_FDCWD: a path). Links are not followed. What cannot be removed stays.
void remove_tree(int at, const std::string& name);

// The same, but removes at most `most` entries, and reduces `most` by their number. False if there are more.
bool remove_some(int at, const std::string& name, std::size_t& most);

// Removes a folder; `last` in it is removed after everything else.
void remove_folder(const std::string& path, std::string_view last);

}  // namespace wq
