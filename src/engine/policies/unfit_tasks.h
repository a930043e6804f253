// Handles tasks that no worker can hold. If the pool is complete, they are skipped; else the user is told
// once what they wait for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class UnfitTasks : Policy {
  public:
    using Policy::Policy;

    void worker_joined(const Worker& worker);
    void worker_gone(const RemovedWorker&) { look_at_all_ = true; }
    void asks_changed() { look_at_all_ = true; }
    void pool_changed(PoolChange change);
    void host_unblocked() { warned_blocked_ = false; }
    void awakened(ShapeId shape);
    std::optional<Instant> next_due() const;

    // Called before tasks are dispatched.
    void skip_all();
    // Called after that.
    void warn_of_waiting();

  private:
    void note_idling();
    Skipped fits_nowhere(IntervalSet tasks, ShapeId shape) const;
    void warn_of_blocked(const std::vector<ShapeId>& waiting);
    bool is_misspelt(const Shape& shape) const;
    std::string some_functions() const;

    bool look_at_all_ = true;          // check every ready shape, not only the awakened ones
    std::set<std::string> functions_;  // that any worker has had, by their features
    std::optional<Instant> warn_at_;   // when to warn the user,
    Instant warn_by_;                  // at the latest, however the pool grows
    bool idles_ = false;               // tasks are ready, and none runs
    std::set<ShapeId> warned_;         // shapes reported as fitting no worker,
    std::set<ShapeId> warned_late_;    // and as needing more time than any has left
    bool warned_blocked_ = false;      // the user knows that tasks wait for blocked hosts
};

}  // namespace wq::engine::policies
