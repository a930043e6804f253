// The counters of a run since its start, in all and by category.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/model/manager_stats.h"
#include "engine/model/outcome.h"

namespace wq::engine::attempts {

// How a worker ceased to be part of the run: unexpectedly, or after a goodbye.
enum class Parting : std::uint8_t { lost, left };

class RunCounters {
  public:
    explicit RunCounters(WallMicros started) { all_.time_when_started = started; }

    // ---- attempts ----

    void count_dispatched(CategoryId category, std::int64_t attempts = 1) {
        count_for(category, [&](auto& stats) { stats.tasks_dispatched += attempts; });
    }
    void count_copy(CategoryId category) {
        count_dispatched(category);
        count_for(category, [](auto& stats) { ++stats.tasks_copied_attempts; });
    }
    void count_lost_attempt(CategoryId category) {
        count_for(category, [](auto& stats) { ++stats.tasks_lost_attempts; });
    }
    void count_fast_abort(CategoryId category) {
        count_for(category, [](auto& stats) { ++stats.workers_fast_aborted; });
    }
    // An attempt ended on its worker.
    void count_ended(CategoryId category, const model::Outcome& outcome);
    // Some attempts succeeded, which took so long in total.
    void count_successes(CategoryId category, std::int64_t wall_us);
    // A worker reported attempts that it did not hold.
    void count_stale(std::uint64_t reports = 1) { stale_ += reports; }

    // ---- workers ----

    void count_joined() { ++all_.workers_joined; }
    void count_gone(Parting how) {
        ++all_.workers_removed;
        if (how == Parting::lost) ++all_.workers_lost;
    }
    void count_blocked() { ++all_.workers_blocked; }  // a worker of a blocked host
    void count_look() { ++looks_; }                   // a worker was looked at for a task

    // ---- results ----

    // Without the figures that the tables give.
    const model::ManagerStats& all() const { return all_; }
    model::ManagerStats of(CategoryId category) const {
        return category.value() < by_category_.size() ? by_category_[category.value()]
                                                      : model::ManagerStats{};
    }
    std::uint64_t stale() const { return stale_; }
    std::uint64_t looks() const { return looks_; }

  private:
    template <class F>
    void count_for(CategoryId category, F&& add) {
        add(all_);
        if (category.value() >= by_category_.size()) by_category_.resize(category.value() + 1);
        add(by_category_[category.value()]);
    }

    model::ManagerStats all_;
    std::vector<model::ManagerStats> by_category_;  // by CategoryId
    std::uint64_t stale_ = 0;
    std::uint64_t looks_ = 0;
};

}  // namespace wq::engine::attempts
