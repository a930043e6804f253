// Checks relative paths that come from others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wq {

// The path in normal form, without empty components and ".". nullopt if it may lead out of its folder, or is
// invalid (empty, absolute, with ".." or a NUL, or longer than the system allows).
std::optional<std::string> relative_path(std::string_view path);

}  // namespace wq
