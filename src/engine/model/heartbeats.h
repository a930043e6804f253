// How long ranks and their manager wait for each other.
#pragma once

#include "base/time.h"

namespace wq::engine::model {

// A worker that was not heard for this long is lost, and its tasks may be dispatched to others.
inline constexpr Duration worker_silence = std::chrono::seconds(10);
// A worker that has not heard its manager for this long kills its tasks: a second earlier.
inline constexpr Duration manager_silence = worker_silence - std::chrono::seconds(1);

}  // namespace wq::engine::model
