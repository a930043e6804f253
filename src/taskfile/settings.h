// `#WQ key=value ...` lines.
#pragma once

#include <string_view>

#include "base/result.h"
#include "taskfile/list.h"

namespace wq::taskfile {

// Applies the words behind `#WQ` to `settings`, all or none of them. Error: the message alone, without file
// and line.
Status apply_settings(std::string_view words, Settings& settings);

}  // namespace wq::taskfile
