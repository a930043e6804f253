// Computes how many tasks a worker's launcher queues, from the run times of its tasks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace wq::worker {

class Prefetch {
  public:
    void ended(std::int64_t wall_us) {
        const auto wall = static_cast<double>(wall_us);
        mean_us_ = mean_us_ < 0 ? wall : mean_us_ + 0.1 * (wall - mean_us_);
    }
    // Tasks to queue in addition to the `lanes` that run: enough for 20 ms, twice the longest back-off of an
    // idle rank. None if tasks take over a second, or nothing is known yet.
    std::int64_t ahead(std::int64_t lanes) const {
        if (mean_us_ < 0 || mean_us_ > 1'000'000) return 0;
        return std::min<std::int64_t>(
            256, lanes * static_cast<std::int64_t>(std::ceil(20'000 / std::max(mean_us_, 100.0))));
    }

  private:
    double mean_us_ = -1;
};

}  // namespace wq::worker
