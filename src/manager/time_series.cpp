#include "manager/time_series.h"

#include <algorithm>
#include <utility>

namespace wq::manager {

namespace {

// After this many samples their interval doubles: a run of a week stays below 10,000 rows.
constexpr std::uint64_t samples_before_doubling = 600;
constexpr Duration longest_between_samples = std::chrono::minutes(5);
// Written ten times a second, samples of an idle manager took 0.12 % of a core, of 1 % in all.
constexpr Duration longest_unchanged = std::chrono::seconds(10);

// Whether they differ by more than what runs on while nothing happens.
bool has_changed(const core::ManagerStats& from, const core::ManagerStats& to) {
    core::ManagerStats now = to;
    now.time_status_msgs = from.time_status_msgs;
    now.time_internal = from.time_internal;
    now.time_polling = from.time_polling;
    now.time_application = from.time_application;
    now.manager_load = from.manager_load;
    return now != from;
}

}  // namespace

void TimeSeries::take(const core::ManagerStats& stats, core::Now now) {
    next_ = now.instant + every_;
    const bool changed = !written_ || has_changed(written_->stats, stats);
    if (!changed && now.instant - written_at_ < longest_unchanged) {
        unwritten_ = records::Sample{now.wall, stats};
        return;
    }
    if (changed && unwritten_) write(*std::exchange(unwritten_, std::nullopt));
    write({now.wall, stats});
    written_at_ = now.instant;
}

void TimeSeries::start_anew(Duration every, Instant now) {
    every_ = every;
    next_ = now;
    written_.reset();
}

void TimeSeries::finish(const core::ManagerStats& stats, core::Now now) {
    written_.reset();
    take(stats, now);
}

void TimeSeries::write(const records::Sample& sample) {
    recorder_.sample(sample);
    written_ = sample;
    unwritten_.reset();
    if (++written_count_ % samples_before_doubling == 0)
        every_ = std::min(2 * every_, longest_between_samples);
}

}  // namespace wq::manager
