// Notifications about tasks and workers. The code that changes the shared state calls these functions, so no
// policy needs to know another: engine/policies/policy_hooks.h passes each call on to all policies.
//
// These functions do nothing, which tests of a single policy use.
#pragma once

#include <string>

#include "engine/attempts/state.h"

namespace wq::engine::attempts {

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
    virtual ~Hooks() = default;

    // ---- attempts ----

    // A worker got the task, or a copy replaced its first attempt.
    virtual void leased(TaskId /*task*/, Attempted& /*attempted*/) const {}
    // The worker no longer has the task.
    virtual void freed(TaskId /*task*/, Attempted& /*attempted*/) const {}
    // A worker reported how an attempt that it held since `began` ended.
    virtual void reported(const Worker& /*worker*/, TaskId /*task*/, const Outcome& /*outcome*/,
                          Instant /*began*/) const {}
    // A worker reported `tasks` successes of a shape at once, which took `all` in total and `each` on
    // average.
    virtual void range_succeeded(const Worker& /*worker*/, ShapeId /*shape*/, std::uint64_t /*tasks*/,
                                 Duration /*all*/, Duration /*each*/) const {}
    virtual void succeeded(TaskId /*task*/, const Outcome& /*outcome*/) const {}
    // The task exceeded its allocation. Returns true if a policy has handled it; a policy may also add to the
    // outcome.
    virtual bool exhausted(TaskId /*task*/, Outcome& /*outcome*/) const { return false; }
    // The task ended because Attempted::kill_ordered was set.
    virtual void killed_as_slow(TaskId /*task*/, Outcome /*outcome*/) const {}
    // The task failed finally.
    virtual void failed(TaskId /*task*/) const {}

    // ---- tasks and workers ----

    virtual void shapes_added() const {}
    // What tasks of some shapes ask for has changed.
    virtual void asks_changed() const {}
    // Ready tasks of the shape may run where they could not before.
    virtual void awakened(ShapeId /*shape*/) const {}
    // Workers have joined (`grew`) or left, or more tasks wait.
    virtual void pool_changed(bool /*grew*/) const {}
    virtual void worker_joined(const Worker& /*worker*/) const {}
    virtual void worker_gone(const RemovedWorker& /*worker*/) const {}
    // The worker has reconnected and still has the task.
    virtual void lease_kept(TaskId /*task*/) const {}
    // The worker has reconnected and holds these tickets.
    virtual void reconnected(Worker& /*worker*/, const IntervalSet& /*tickets*/) const {}
    virtual void host_unblocked() const {}
};

}  // namespace wq::engine::attempts
