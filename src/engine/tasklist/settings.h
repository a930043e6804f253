// `#WQ key=value ...` lines.
#pragma once

#include <string_view>

#include "base/result.h"
#include "engine/tasklist/list.h"

namespace wq::engine::tasklist {

// Applies the words after `#WQ` to `settings`, all or none. Error: the message without file and line.
Status apply_settings(std::string_view words, Settings& settings);

}  // namespace wq::engine::tasklist
