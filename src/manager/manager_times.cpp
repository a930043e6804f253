#include "manager/manager_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wq::manager {

namespace {

// Capacity is estimated from about this many of the last attempts.
constexpr double most_recent_attempts = 50;
// Weight of the newest sample in capacity_weighted.
constexpr double newest_weight = 0.05;

double micros(Duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

std::int64_t whole(double value) {
    return static_cast<std::int64_t>(std::min(std::ceil(value), 1e15));
}

// How many tasks of this run time one manager's thread can keep busy if each costs this much.
double tasks_kept_busy(double wall_us, double busy_us) {
    return std::max(1.0, wall_us / std::max(1.0, busy_us));
}

}  // namespace

void ManagerTimes::sent(Duration took, Carried carried) {
    const bool tasks = carried == Carried::work;
    (tasks ? send_ : status_) += took;
    had_tasks_ = had_tasks_ || tasks;
}

void ManagerTimes::received(Duration took, Carried carried) {
    (carried == Carried::work ? receive_ : status_) += took;
}

void ManagerTimes::ended(std::uint64_t count, std::uint64_t succeeded, std::int64_t wall_us,
                         const engine::model::Resources& given) {
    const auto attempts = static_cast<double>(count);
    ended_ += attempts;
    succeeded_ += static_cast<double>(succeeded);
    growing_.attempts += attempts;
    growing_.wall_us += static_cast<double>(wall_us);
    growing_.cores += attempts * given.cores.as_double();
    growing_.gpus += attempts * given.gpus.as_double();
    growing_.memory_mb += attempts * static_cast<double>(given.memory_mb);
    growing_.disk_mb += attempts * static_cast<double>(given.disk_mb);
    had_tasks_ = true;
}

// Work of turns without tasks is no cost of a task.
void ManagerTimes::count_turn(Duration waited, Duration busy) {
    waited_ += waited;
    busy_ += busy;
    if (had_tasks_) growing_.busy_us += micros(busy);
    had_tasks_ = false;
    if (growing_.attempts > 0) keep(std::exchange(growing_, {}));
}

void ManagerTimes::keep(const Sample& sample) {
    const double now = tasks_kept_busy(sample.wall_us, sample.busy_us);
    weighted_ = recent_.empty() ? now : newest_weight * now + (1 - newest_weight) * weighted_;
    recent_.push_back(sample);
    recent_attempts_ += sample.attempts;
    while (recent_attempts_ - recent_.front().attempts >= most_recent_attempts) {
        recent_attempts_ -= recent_.front().attempts;
        recent_.pop_front();
    }
}

void ManagerTimes::fill(engine::model::ManagerStats& stats) const {
    const double good = ended_ > 0 ? succeeded_ / ended_ : 0;
    stats.time_send = whole(micros(send_));
    stats.time_receive = whole(micros(receive_));
    stats.time_send_good = whole(micros(send_) * good);
    stats.time_receive_good = whole(micros(receive_) * good);
    stats.time_status_msgs = whole(micros(status_));
    stats.time_internal = whole(micros(std::max(Duration{0}, busy_ - send_ - receive_ - status_)));
    stats.time_polling = whole(micros(waited_));
    const double all = micros(busy_ + waited_);
    stats.manager_load = all > 0 ? micros(busy_) / all : 0;
    if (!recent_.empty()) fill_capacity(stats);
}

void ManagerTimes::fill_capacity(engine::model::ManagerStats& stats) const {
    Sample sum;
    for (const Sample& sample : recent_) {
        sum.attempts += sample.attempts;
        sum.wall_us += sample.wall_us;
        sum.busy_us += sample.busy_us;
        sum.cores += sample.cores;
        sum.memory_mb += sample.memory_mb;
        sum.disk_mb += sample.disk_mb;
        sum.gpus += sample.gpus;
    }
    const double tasks = tasks_kept_busy(sum.wall_us, sum.busy_us);
    stats.capacity_tasks = whole(tasks);
    stats.capacity_cores = whole(tasks * sum.cores / sum.attempts);
    stats.capacity_memory = whole(tasks * sum.memory_mb / sum.attempts);
    stats.capacity_disk = whole(tasks * sum.disk_mb / sum.attempts);
    stats.capacity_gpus = whole(tasks * sum.gpus / sum.attempts);
    const Sample& newest = recent_.back();
    stats.capacity_instantaneous = whole(tasks_kept_busy(newest.wall_us, newest.busy_us));
    stats.capacity_weighted = whole(weighted_);
}

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

bool TimeSeries::take(const engine::model::ManagerStats& stats, engine::model::Now now) {
    next_ = now.instant + every_;
    const bool changed = !written_ || has_changed(written_->stats, stats);
    if (!changed && now.instant - written_at_ < longest_unchanged) {
        unwritten_ = records::journal::Sample{now.wall, stats};
        return false;
    }
    if (changed && unwritten_) write(records::journal::Sample(*unwritten_));
    write({now.wall, stats});
    written_at_ = now.instant;
    return true;
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
