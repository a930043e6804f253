// Splits a command line into options and other words, by the same rules for all commands.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace wq::programs {

// Without the program's name.
std::vector<std::string> words_of(int argc, const char* const* argv);

// Words that are no options become the option `place`, a vector of strings. Options cannot be abbreviated.
// `hidden`: accepted, but not suggested. Error (usage): an unknown or incomplete option.
Result<boost::program_options::variables_map> split_words(
    const std::vector<std::string>& words, const boost::program_options::options_description& shown,
    const char* place, const boost::program_options::options_description& hidden = {});

// The format of --help for all commands.

inline constexpr unsigned help_width = 80;  // fits the narrowest terminals

// Boost's program_options leaves a blank at the end of lines that it wraps.
std::string without_trailing_blanks(const std::string& text);

}  // namespace wq::programs
