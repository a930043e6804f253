// What the pool as a whole can run, and how to say that in a message: read-only questions about a shape and
// all workers.
#pragma once

#include <string>
#include <vector>

#include "scheduling/fit.h"

namespace wq::scheduling {

// "feature a, function 'b'": for messages.
std::string describe(const std::vector<std::string>& features);

class Pool {
  public:
    Pool(const State& state, const Fit& fit) : state_(state), fit_(fit) {}

    // Whether some worker could hold it if it were idle. A worker that has no time left for it counts: the
    // next job of the run has more time. So does a worker that is disconnected or drains, until it has left.
    bool fits_somewhere(const Ask& ask, const Shape& shape) const;
    bool fits_somewhere(ShapeId shape) const {
        return fits_somewhere(state_.asked(shape), state_.ledger.shape(shape));
    }
    // Whether workers that are not there now are not waited for any more.
    bool settled() const;
    // The most of each resource that any worker has.
    Resources largest() const;

    // ---- hosts ----

    // A copy: blocking a host changes the index.
    std::vector<WorkerId> workers_of(const std::string& host) const;
    // Whether the host could run the shape if it were idle, whether it gets tasks or not.
    bool host_holds(const std::string& host, ShapeId shape) const;
    // Whether a host that gets tasks, other than `but`, could.
    bool some_host_holds(ShapeId shape, const std::string* but) const;
    // Shapes with ready tasks that the host could run.
    std::vector<ShapeId> what_waits_for(const std::string& host) const;
    // The blocked hosts that could run it, if none that gets tasks could; else "".
    std::string blocked_hosts_for(ShapeId shape) const;

    // ---- messages ----

    // "the largest<which> have 4 cores, ...": by no task's account, for workers with all `features`.
    std::string largest_with(const std::vector<std::string>& features, const std::string& which) const;
    // What a worker would need that could hold the shape.
    std::string what_is_missing(ShapeId shape) const;
    bool some_share_a_host() const;

  private:
    bool fits_an_offer(const Ask& ask, const Shape& shape) const;

    const State& state_;
    const Fit& fit_;
};

}  // namespace wq::scheduling
