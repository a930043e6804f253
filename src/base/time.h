// Types for time. The core never reads a clock: every event carries its Instant.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace wq {

using Duration = std::chrono::nanoseconds;

// Monotonic time of one process. Only differences are meaningful.
struct RunClock {
    using duration = Duration;
    using rep = Duration::rep;
    using period = Duration::period;
    using time_point = std::chrono::time_point<RunClock>;
    static constexpr bool is_steady = true;
};
using Instant = RunClock::time_point;

// Microseconds since 1970-01-01 UTC, as in logs and records.
using WallMicros = std::int64_t;
inline constexpr std::int64_t micros_per_second = 1'000'000;

inline Instant instant_now() {
    return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

// Sets `next` to `other` if that is earlier.
inline void earliest(std::optional<Instant>& next, std::optional<Instant> other) {
    if (other && (!next || *other < *next)) next = other;
}

inline WallMicros wall_now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Time as text. `format`: as for strftime.

// In the time zone of this machine.
std::string local_time(WallMicros when, const char* format);

std::string utc_time(WallMicros when, const char* format);

}  // namespace wq
