#include "manager/time_series.h"

#include <algorithm>

namespace wq::manager {

namespace {

// After this many samples their interval doubles: a run of a week stays below 10,000 rows.
constexpr std::uint64_t samples_before_doubling = 600;
constexpr Duration longest_between_samples = std::chrono::minutes(5);
// Written ten times a second, samples of an idle manager took 0.12 % of a core, of 1 % in all.
constexpr Duration longest_unchanged = std::chrono::seconds(10);

// Whether more than clocks differ.
bool has_changed(const engine::model::ManagerStats& from, const engine::model::ManagerStats& to) {
    engine::model::ManagerStats now = to;
#define WQ_COPY(name) now.name = from.name;
    WQ_CLOCK_STATS(WQ_COPY)
#undef WQ_COPY
    return now != from;
}

}  // namespace

void TimeSeries::take(const engine::model::ManagerStats& stats, engine::model::Now now) {
    next_ = now.instant + every_;
    const bool changed = !written_ || has_changed(written_->stats, stats);
    if (!changed && now.instant - written_at_ < longest_unchanged) {
        unwritten_ = records::journal::Sample{now.wall, stats};
        return;
    }
    if (changed && unwritten_) write(records::journal::Sample(*unwritten_));
    write({now.wall, stats});
    written_at_ = now.instant;
}

void TimeSeries::start_anew(Duration every, Instant now) {
    every_ = every;
    next_ = now;
    written_.reset();
    unwritten_.reset();  // it is of a time before the new log
}

void TimeSeries::finish(const engine::model::ManagerStats& stats, engine::model::Now now) {
    written_.reset();
    take(stats, now);
}

void TimeSeries::write(const records::journal::Sample& sample) {
    recorder_.sample(sample);
    written_ = sample;
    unwritten_.reset();
    if (++written_count_ % samples_before_doubling == 0)
        every_ = std::min(2 * every_, longest_between_samples);
}

}  // namespace wq::manager
