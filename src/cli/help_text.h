// The format of --help for all commands.
#pragma once

#include <string>

namespace wq::cli {

inline constexpr unsigned help_width = 80;  // of the narrowest terminals

// The library of options ends lines that it breaks with a blank.
std::string without_trailing_blanks(const std::string& text);

}  // namespace wq::cli
