// Changes of a task's environment relative to its worker's. No value means that the variable is unset.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wq {

using EnvironmentChanges = std::vector<std::pair<std::string, std::optional<std::string>>>;

// A task whose environment sets this variable to "keep" sees the batch system's variables as they are.
inline constexpr const char* batch_environment_variable = "WORK_QUEUE_BATCH_ENVIRONMENT";
inline constexpr const char* batch_environment_kept = "keep";

}  // namespace wq
