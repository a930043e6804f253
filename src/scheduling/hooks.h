// Notifies policies. Each function here calls the function of the same name on every policy that has one, in
// the order of policies.h. The compiler resolves the calls: there is no virtual call and no list.
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
    // Without this call nobody is notified, which tests of a single policy use.
    void connect(Policies* policies) { policies_ = policies; }

    // ---- attempts ----

    // A worker got the task, or a copy replaced its first attempt.
    void leased(TaskId task, Attempted& attempted) const;
    // The worker no longer has the task.
    void freed(TaskId task, Attempted& attempted) const;
    // A worker reported how an attempt that it held since `began` ended.
    void reported(const Worker& worker, TaskId task, const Outcome& outcome, Instant began) const;
    // A worker reported `tasks` successes of a shape at once, which took `all` in total and `each` on
    // average.
    void range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                         Duration each) const;
    void succeeded(TaskId task, const Outcome& outcome) const;
    // The task exceeded its allocation. Returns true if a policy has handled it; a policy may also add to the
    // outcome.
    bool exhausted(TaskId task, Outcome& outcome) const;
    // The task ended because Attempted::kill_ordered was set.
    void killed_as_slow(TaskId task, Outcome outcome) const;
    // The task failed finally.
    void failed(TaskId task) const;

    // ---- tasks and workers ----

    void shapes_added() const;
    // What tasks of some shapes ask for has changed.
    void asks_changed() const;
    // Ready tasks of the shape may run where they could not before.
    void awakened(ShapeId shape) const;
    // Workers have joined (`grew`) or left, or more tasks wait.
    void pool_changed(bool grew) const;
    void worker_joined(const Worker& worker) const;
    void worker_gone(const RemovedWorker& worker) const;
    // The worker has reconnected and still has the task.
    void lease_kept(TaskId task) const;
    // The worker has reconnected and holds these tickets.
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
