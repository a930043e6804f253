// A task whose environment sets this variable to "keep" sees the batch system's variables as they are.
#pragma once

namespace wq {

inline constexpr const char* batch_environment_variable = "WORK_QUEUE_BATCH_ENVIRONMENT";
inline constexpr const char* batch_environment_kept = "keep";

}  // namespace wq
