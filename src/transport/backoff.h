// When to try again: exponential back-off with full jitter. The wait is drawn evenly from [least, ceiling],
// and the ceiling doubles with each failure up to `most`: a thousand workers that lost the same manager come
// back spread over the whole interval.
#pragma once

#include <cstdint>
#include <random>

#include "base/time.h"

namespace wq::transport {

class Backoff {
  public:
    Backoff(Duration least, Duration most, std::uint64_t seed);

    Duration next();  // after a failure: how long to wait
    void reset();     // after a success

  private:
    Duration least_;
    Duration most_;
    Duration ceiling_;
    std::mt19937_64 random_;
};

}  // namespace wq::transport
