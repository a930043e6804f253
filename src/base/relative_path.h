// Relative paths of files that somebody else names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wq {

// In one form: without empty components and ".". Nothing: it is none that stays below (empty, absolute, with
// "..", a NUL, or longer than the system's paths).
std::optional<std::string> relative_path(std::string_view path);

}  // namespace wq
