// Quotes text for a shell.
#pragma once

#include <string>
#include <string_view>

namespace wq {

// `text` in single quotes for any POSIX shell.
std::string single_quoted(std::string_view text);

}  // namespace wq
