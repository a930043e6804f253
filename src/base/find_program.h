// Finds executables of an installation by their place in the prefixes above a folder.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace wq {

bool is_executable_file(const std::string& path);

// FOLDER/PLACE, or the same in one of the folders above it, at most `levels` of them in all, if `is_it`.
// Stops at a folder where everybody may write, such as /tmp: anybody could have put a program there.
std::optional<std::string> find_above(
    const std::string& folder, std::initializer_list<const char*> places, int levels,
    const std::function<bool(const std::string&)>& is_it = is_executable_file);

// Where to look for an installation's executables: the folders of the library or program that contains the
// address `inside`, of this program, and those in PATH.
std::vector<std::string> program_folders(const void* inside);

// The shell that runs task commands.

// Returns the path of `wanted`; empty: bash if installed, else sh. Error: it cannot be executed.
Result<std::string> find_shell(const std::string& wanted = {});

}  // namespace wq
