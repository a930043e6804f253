// The shell that runs task commands.
#pragma once

#include <string>

#include "base/result.h"

namespace wq {

// Returns the path of `wanted`; empty: bash if installed, else sh. Error: it cannot be executed.
Result<std::string> find_shell(const std::string& wanted = {});

}  // namespace wq
