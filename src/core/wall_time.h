// How long an attempt took, as its worker says.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/outcome.h"

namespace wq::core {

// What a peer says may be more than a Duration holds: a century at most.
inline Duration wall_time(const Outcome& outcome) {
    constexpr std::int64_t most = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000;
    return std::chrono::microseconds(std::clamp<std::int64_t>(outcome.wall_us, 0, most));
}

}  // namespace wq::core
