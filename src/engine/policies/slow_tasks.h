// Implements fast abort: kills a task that takes much longer than the others of its category and retries it,
// on another host or worker if one could run it.
#pragma once

#include <optional>
#include <string>

#include "engine/model/run_times.h"
#include "engine/policies/policy.h"

namespace wq::engine::policies {

class SlowTasks : Policy {
  public:
    using Policy::Policy;

    void on(const FastAbortSet& event);

    void leased(TaskId task, Attempted& attempted) {
        if (watches_) watch(task, attempted);
    }
    void freed(TaskId task, Attempted& attempted) {
        if (attempted.run_time) unwatch(task, attempted);
    }
    void succeeded(TaskId task, const Outcome& outcome);
    void range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                         Duration each);
    void killed_as_slow(TaskId task, Outcome outcome);
    void lease_kept(TaskId task);
    void tick();
    std::optional<Instant> next_due() const;
    std::optional<std::string> audit() const;

    bool limits(CategoryId category) const { return run_times_.multiplier(category).has_value(); }

  private:
    void watch(TaskId task, Attempted& attempted);
    void unwatch(TaskId task, Attempted& attempted);
    void look_again(TaskId task, Attempted& attempted, Instant at);
    void kill_slow(TaskId task);
    void avoid(TaskId task, const Worker& worker);

    RunTimes run_times_;
    bool watches_ = false;
};

}  // namespace wq::engine::policies
