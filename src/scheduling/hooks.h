// How policies are notified. Each function here calls the function of the same name on every policy that has
// one, in the order of policies.h: resolved by the compiler, with no virtual call and no list.
#pragma once

#include <optional>
#include <string>

#include "scheduling/state.h"

namespace wq::scheduling {

struct Policies;

// A worker that has been removed.
struct RemovedWorker {
    WorkerId id;
    std::string host;
    Resources whole;
    std::string reason;
    bool lost = false;
};

class Hooks {
  public:
    // Without policies nobody is told: for tests of one policy alone.
    void connect(Policies* policies) { policies_ = policies; }

    // ---- attempts ----

    // A worker got the task; or a copy took the place of its first attempt.
    void leased(TaskId task, Attempted& attempted) const;
    // It has it no more.
    void freed(TaskId task, Attempted& attempted) const;
    // A worker told how an attempt that it held since `began` ended.
    void reported(const Worker& worker, TaskId task, const Outcome& outcome, Instant began) const;
    // A worker told of so many successes of a shape at once, which took `all` together and `each` on average.
    void range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                         Duration each) const;
    void succeeded(TaskId task, const Outcome& outcome) const;
    // It took more than it was given. True: a policy has dealt with it. It may also say more in the outcome.
    bool exhausted(TaskId task, Outcome& outcome) const;
    // It ended because Attempted::kill_ordered was set.
    void killed_as_slow(TaskId task, Outcome outcome) const;
    // It failed for good.
    void failed(TaskId task) const;

    // ---- tasks and workers ----

    void shapes_added() const;
    // What tasks of some shapes ask for has changed.
    void asks_changed() const;
    // Ready tasks of the shape may run where they could not before.
    void awakened(ShapeId shape) const;
    // More tasks wait, or workers have joined (`grew`) or left.
    void pool_changed(bool grew) const;
    void worker_joined(const Worker& worker) const;
    void worker_gone(const RemovedWorker& worker) const;
    // The worker is connected again and still has the task.
    void lease_kept(TaskId task) const;
    // It is connected again, and holds these tickets.
    void reconnected(Worker& worker, const IntervalSet& tickets) const;
    void host_unblocked() const;

    // ---- time and settings ----

    void tick() const;
    std::optional<Instant> next_due() const;
    void tuned(const Tuned& event) const;
    std::optional<std::string> audit() const;

  private:
    template <class F>
    void each(F&& tell) const;

    Policies* policies_ = nullptr;
};

}  // namespace wq::scheduling
