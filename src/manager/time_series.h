// The time series of a run's statistics: a sample ten times a second at first, less often as the run gets
// long, and much less often while nothing happens.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "engine/model/events.h"
#include "records/journal/records.h"
#include "records/recorder/recorder.h"

namespace wq::manager {

class TimeSeries {
  public:
    TimeSeries(records::recorder::Recorder& recorder, Duration every, Instant started)
        : recorder_(recorder), next_(started), every_(every) {}

    Instant next() const { return next_; }  // when take() should be called
    // While only clocks differ from the last sample written, one is written every ten seconds. The one before
    // a change is written too, so that a curve through the samples stays flat until the change.
    void take(const engine::model::ManagerStats& stats, engine::model::Now now);
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
