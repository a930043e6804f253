// The format of --help for all commands.
#pragma once

#include <string>

namespace wq::programs {

inline constexpr unsigned help_width = 80;  // fits the narrowest terminals

// Boost's program_options leaves a blank at the end of lines that it wraps.
std::string without_trailing_blanks(const std::string& text);

}  // namespace wq::programs
