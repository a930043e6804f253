// Answers what the pool as a whole can run, and describes it in messages. Read-only; each function is about
// one shape and all workers.
#pragma once

#include <string>
#include <vector>

#include "engine/attempts/fit.h"

namespace wq::engine::attempts {

// "feature a, function 'b'": for messages.
std::string describe(const std::vector<std::string>& features);

class Pool {
  public:
    Pool(const State& state, const Fit& fit) : state_(state), fit_(fit) {}

    // Whether some worker could hold the shape if it were idle. A worker without enough time left counts,
    // because the run's next job has more time. A disconnected or draining worker counts until it leaves.
    bool fits_somewhere(const Ask& ask, const Shape& shape) const;
    bool fits_somewhere(ShapeId shape) const {
        return fits_somewhere(state_.asked(shape), state_.ledger.shape(shape));
    }
    // Whether some worker could hold the shape if it were idle, and has enough time left.
    bool could_run_in_time(ShapeId shape) const;
    // Whether the manager no longer waits for more workers.
    bool settled() const;
    // The most of each resource that any worker has.
    Resources largest() const;

    // ---- hosts ----

    // Returns a copy, because blocking a host changes the index.
    std::vector<WorkerId> workers_of(const std::string& host) const;
    // Whether the host could run the shape if it were idle, even if the host gets no tasks.
    bool host_holds(const std::string& host, ShapeId shape) const;
    // Whether a host other than `but` that gets tasks could run the shape.
    bool some_host_holds(ShapeId shape, const std::string* but) const;
    // Shapes with ready tasks that the host could run.
    std::vector<ShapeId> what_waits_for(const std::string& host) const;
    // The blocked hosts that could run the shape, if no host that gets tasks could; else "".
    std::string blocked_hosts_for(ShapeId shape) const;

    // ---- messages ----

    // What no worker has that could hold the shape: "16 cores; the largest worker has 2".
    std::string what_is_missing(ShapeId shape) const;
    bool some_share_a_host() const;

  private:
    std::string largest_for(const Ask& ask, const std::vector<std::string>& features) const;
    bool fits_an_offer(const Ask& ask, const Shape& shape) const;

    const State& state_;
    const Fit& fit_;
};

}  // namespace wq::engine::attempts
