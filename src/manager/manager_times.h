// What a manager's thread does with its time, and from that how many tasks it could keep busy: the fields
// time_* and capacity_* of Work Queue's table ("Performance Statistics").
#pragma once

#include <cstdint>
#include <deque>

#include "base/time.h"
#include "core/manager_stats.h"
#include "core/resources.h"

namespace wq::manager {

class ManagerTimes {
  public:
    void sent(Duration took, bool tasks);        // messages; with tasks among them or without
    void received(Duration took, bool results);  // the same of what came
    Duration sending() const { return send_; }   // of tasks, so far
    // Attempts that ended with something to show: `wall_us` of all of them together, `given` to each.
    void ended(std::uint64_t count, bool succeeded, std::int64_t wall_us, const core::Resources& given);
    // A turn of the loop: how long it waited before, and did something in it.
    void turn(Duration waited, Duration busy);

    void fill(core::ManagerStats& stats) const;

  private:
    // Attempts that ended in one turn: sums.
    struct Sample {
        double attempts = 0;
        double wall_us = 0;
        double busy_us = 0;
        double cores = 0, memory_mb = 0, disk_mb = 0;
    };
    void keep(const Sample& sample);
    void fill_capacity(core::ManagerStats& stats) const;

    Duration send_{}, receive_{}, status_{}, busy_{}, waited_{};
    double ended_ = 0, succeeded_ = 0;  // attempts
    bool had_tasks_ = false;            // sent, or ended, in this turn
    Sample growing_;
    std::deque<Sample> recent_;  // the last 50 attempts, or the last sample
    double recent_attempts_ = 0;
    double weighted_ = 0;
};

}  // namespace wq::manager
