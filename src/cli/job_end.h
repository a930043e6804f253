// How long before a known end, such as that of a batch job, running tasks are drained.
#pragma once

#include "base/time.h"

namespace wq::cli {

inline constexpr Duration drain_before_end = std::chrono::seconds(60);

}  // namespace wq::cli
