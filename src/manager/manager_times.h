// Measures how the manager's thread uses its time, and estimates how many tasks it can keep busy: the fields
// time_* and capacity_* of Work Queue's table ("Performance Statistics").
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "engine/model/events.h"
#include "engine/model/manager_stats.h"
#include "engine/model/resources.h"
#include "records/journal/records.h"
#include "records/recorder/recorder.h"

namespace wq::manager {

class ManagerTimes {
  public:
    enum class Carried : std::uint8_t { work, upkeep };  // work: tasks or results
    void sent(Duration took, Carried carried);           // messages
    void received(Duration took, Carried carried);       // messages
    Duration sending() const { return send_; }           // tasks, so far
    // Attempts that ended with a result, `succeeded` of them well: `wall_us` is their sum, `given` the
    // allocation of each.
    void ended(std::uint64_t count, std::uint64_t succeeded, std::int64_t wall_us,
               const engine::model::Resources& given);
    // A turn of the loop: how long it waited first, and then worked.
    void count_turn(Duration waited, Duration busy);

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

// The time series of a run's statistics: a sample ten times a second at first, less often as the run gets
// long, and much less often while nothing happens.
class TimeSeries {
  public:
    TimeSeries(records::recorder::Recorder& recorder, Duration every, Instant started)
        : recorder_(recorder), next_(started), every_(every) {}

    Instant next() const { return next_; }  // when take() should be called
    // While only clocks differ from the last sample written, one is written every ten seconds. The one before
    // a change is written too, so that a curve through the samples stays flat until the change. Returns
    // whether it was written.
    bool take(const engine::model::ManagerStats& stats, engine::model::Now now);
    // Samples are taken this often from now on; the next is due at once, and written even if nothing has
    // changed.
    void start_anew(Duration every, Instant now);
    // The run has ended: the last sample is written even if nothing has changed.
    void finish(const engine::model::ManagerStats& stats, engine::model::Now now);

  private:
    void write(const records::journal::Sample& sample);

    records::recorder::Recorder& recorder_;
    Instant next_;
    Duration every_;
    std::uint64_t written_count_ = 0;
    std::optional<records::journal::Sample> written_;
    Instant written_at_{};
    std::optional<records::journal::Sample> unwritten_;  // the newest, if nothing but clocks has changed
};

}  // namespace wq::manager
