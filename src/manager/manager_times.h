// Measures how the manager's thread uses its time, and estimates how many tasks it can keep busy: the fields
// time_* and capacity_* of Work Queue's table ("Performance Statistics").
#pragma once

#include <cstdint>
#include <deque>

#include "base/time.h"
#include "engine/model/manager_stats.h"
#include "engine/model/resources.h"

namespace wq::manager {

class ManagerTimes {
  public:
    void sent(Duration took, bool tasks);        // messages; `tasks`: they carried tasks
    void received(Duration took, bool results);  // messages; `results`: they carried results
    Duration sending() const { return send_; }   // tasks, so far
    // Attempts that ended with a result: `wall_us` is their sum, `given` the allocation of each.
    void ended(std::uint64_t count, bool succeeded, std::int64_t wall_us,
               const engine::model::Resources& given);
    // A turn of the loop: how long it waited first, and then worked.
    void turn(Duration waited, Duration busy);

    void fill(engine::model::ManagerStats& stats) const;

  private:
    // Sums over the attempts that ended in one turn.
    struct Sample {
        double attempts = 0;
        double wall_us = 0;
        double busy_us = 0;
        double cores = 0, memory_mb = 0, disk_mb = 0, gpus = 0;
    };
    void keep(const Sample& sample);
    void fill_capacity(engine::model::ManagerStats& stats) const;

    Duration send_{}, receive_{}, status_{}, busy_{}, waited_{};
    double ended_ = 0, succeeded_ = 0;  // attempts
    bool had_tasks_ = false;            // tasks were sent or ended in this turn
    Sample growing_;
    std::deque<Sample> recent_;  // the last 50 attempts, or the last sample
    double recent_attempts_ = 0;
    double weighted_ = 0;
};

}  // namespace wq::manager
