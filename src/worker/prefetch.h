// Computes how many tasks a worker's launcher queues, from the run times of its tasks.
#pragma once

#include <cstdint>

#include "engine/model/run_times.h"

namespace wq::worker {

class Prefetch {
  public:
    void ended(std::int64_t wall_us) { mean_.add(static_cast<double>(wall_us)); }
    // Tasks to queue in addition to the `lanes` that run.
    std::int64_t ahead(std::int64_t lanes) const { return engine::model::queue_depth(mean_, lanes); }

  private:
    engine::model::MeanWallTime mean_;
};

}  // namespace wq::worker
