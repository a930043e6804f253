// Parses the value of --bind.
#pragma once

#include <string>

#include "base/result.h"
#include "node/machine/layout.h"

namespace wq::programs {

// "none", "core", "numa". Error (usage): another word.
Result<node::machine::Binding> parse_binding(const std::string& word);

const char* binding_word(node::machine::Binding binding);

// --threads-per-core: a number from 1. Error (usage): not such a number.
Result<std::int64_t> parse_threads(const std::string& word);

}  // namespace wq::programs
