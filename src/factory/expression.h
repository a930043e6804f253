// Arithmetic in configuration files: "cores*4000", "min(8, max-workers / 2) + 1".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wq::factory {

// A value of the same file, by its key; nullopt: there is none, or it is no number.
using ValueOf = std::function<std::optional<double>(const std::string& key)>;

// Numbers, keys, + - * / with their usual precedence, parentheses, min(a, b, ...) and max(a, b, ...). A key
// has letters, digits, '_' and '-'; so a difference of keys needs blanks: "a - b". Errors (bad_input) quote
// the text: not of this grammar, an unknown key, or no finite number (a division by 0).
Result<double> evaluate(std::string_view text, const ValueOf& value);

}  // namespace wq::factory
