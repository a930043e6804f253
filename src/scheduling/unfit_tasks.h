// Tasks that no worker can hold: they are skipped if the pool is complete, else the user is told once what
// they wait for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduling/policy.h"

namespace wq::scheduling {

class UnfitTasks : Policy {
  public:
    using Policy::Policy;

    void worker_joined(const Worker& worker);
    void worker_gone(const RemovedWorker&) { look_at_all_ = true; }
    void asks_changed() { look_at_all_ = true; }
    void pool_changed(bool grew);
    void host_unblocked() { told_blocked_ = false; }
    void awakened(ShapeId shape);
    std::optional<Instant> next_due() const;

    // Before tasks are dispatched.
    void skip_all();
    // After that.
    void tell_what_waits();

  private:
    Skipped fits_nowhere(IntervalSet tasks, ShapeId shape) const;
    void tell_what_is_blocked(const std::vector<ShapeId>& waiting);
    bool is_misspelt(const Shape& shape) const;
    std::string some_functions() const;

    bool look_at_all_ = true;          // every ready shape may fit nowhere, not only the awakened ones
    std::set<std::string> functions_;  // that some worker has had, by their features
    std::optional<Instant> tell_at_;   // when the user is told,
    Instant tell_by_;                  // at the latest, however the pool grows
    std::set<ShapeId> told_;           // that no worker can hold it
    bool told_blocked_ = false;        // that tasks wait for hosts that are blocked
};

}  // namespace wq::scheduling
