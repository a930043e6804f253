// When to retry: exponential back-off with full jitter. The wait is random in [least, ceiling]; the ceiling
// doubles with each failure up to `most`. So a thousand workers that lost the same manager spread their
// reconnections over the whole interval.
#pragma once

#include <cstdint>
#include <random>

#include "base/time.h"

namespace wq::net::frames {

class Backoff {
  public:
    Backoff(Duration least, Duration most, std::uint64_t seed);

    Duration next();  // after a failure: the time to wait
    void reset();     // after a success

  private:
    Duration least_;
    Duration most_;
    Duration ceiling_;
    std::mt19937_64 random_;
};

}  // namespace wq::net::frames
