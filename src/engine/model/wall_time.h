// The duration of an attempt, as its worker reports it.
#pragma once

#include <algorithm>
#include <chrono>

#include "engine/model/outcome.h"

namespace wq::engine::model {

// A peer's figure may exceed a Duration: a century at most.
inline Duration wall_time(const Outcome& outcome) {
    constexpr std::int64_t most = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000;
    return std::chrono::microseconds(std::clamp<std::int64_t>(outcome.wall_us, 0, most));
}

}  // namespace wq::engine::model
