// Parses the value of --bind.
#pragma once

#include <string>

#include "base/result.h"
#include "launcher/launcher.h"

namespace wq::cli {

// "none", "core", "numa". Error (usage): another word.
Result<machine::Binding> parse_binding(const std::string& word);

const char* binding_word(machine::Binding binding);

// --threads-per-core: 1 and more. Error (usage): no such number.
Result<std::int64_t> parse_threads(const std::string& word);

}  // namespace wq::cli
