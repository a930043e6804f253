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
    explicit SlowTasks(Shared& shared) : Policy(shared), avoided_(shared.state.avoided) {}

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

    AvoidedHosts& avoided_;
    RunTimes run_times_;
    bool watches_ = false;
};

// Starts speculative copies of the last stragglers. When no task waits any more, a task that takes much
// longer than others of its category also runs on a second worker that has room. The first success counts,
// and the other attempt is killed.
class SpeculativeCopies : Policy {
  public:
    using Policy::Policy;

    void leased(TaskId task, Attempted& attempted) {
        if (on_) watch(task, attempted);
    }
    void freed(TaskId task, Attempted& attempted) {
        if (attempted.straggling) unwatch(task, attempted);
    }
    void succeeded(TaskId task, const Outcome& outcome);
    void range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                         Duration each);
    void tuned(const Tuned& event);
    void tick();
    std::optional<Instant> next_due() const;
    std::optional<std::string> audit() const;

  private:
    void watch(TaskId task, Attempted& attempted);
    void unwatch(TaskId task, Attempted& attempted);
    void watch_later(TaskId task, Attempted& attempted);
    bool nothing_waits() const;
    Worker* room_elsewhere(TaskId task);

    bool on_ = false;
    RunTimes run_times_;   // of tasks that may be copied
    Instant pause_until_;  // no straggler is checked before
};

}  // namespace wq::engine::policies
