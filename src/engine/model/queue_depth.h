// How many tasks a worker's launcher queues beyond those that run, so that it need not wait for the next one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace wq::engine::model {

inline constexpr std::int64_t most_queued = 256;

// The running mean of the wall times of like tasks.
class MeanWallTime {
  public:
    void add(double us) {
        constexpr double weight_of_newest = 0.1;
        us_ = us_ < 0 ? us : us_ + weight_of_newest * (us - us_);
    }
    bool known() const { return us_ >= 0; }
    double us() const { return us_; }

  private:
    double us_ = -1;
};

// Enough for 20 ms: the report of an end may wait for 10 ms in the launcher (ReportBuffer), and the manager's
// rank looks after half of the silence (BackOff), thus 10 ms later. None if nothing is known yet, or tasks
// take over a second: such a wait is then about 1 %. `at_once`: tasks that run at the same time.
inline std::int64_t queue_depth(const MeanWallTime& mean, std::int64_t at_once) {
    constexpr double cover_us = 20'000;
    constexpr double longest_task_us = 1'000'000;
    constexpr double shortest_task_us = 100;
    if (!mean.known() || mean.us() > longest_task_us) return 0;
    const double each = std::ceil(cover_us / std::max(mean.us(), shortest_task_us));
    return std::min(most_queued, static_cast<std::int64_t>(each) * at_once);
}

}  // namespace wq::engine::model
