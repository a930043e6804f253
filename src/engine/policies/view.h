// Computes what users may see: figures, and why a task does not run. Read-only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/waiting.h"
#include "engine/policies/policy.h"

namespace wq::engine::policies {

// Unfinished tasks of one shape.
struct ShapeCount {
    ShapeId shape;
    std::uint64_t ready = 0;
    std::uint64_t on_workers = 0;  // leased, or in a batch
};

class View {
  public:
    explicit View(const Shared& shared)
        : state_(shared.state),
          counters_(shared.counters),
          ledger_(shared.state.ledger),
          workers_(shared.state.workers),
          fit_(shared.fit),
          pool_(shared.pool) {}

    ManagerStats stats() const;
    ManagerStats stats(CategoryId category) const;
    // By shape, without those that wait for a time or other tasks. Visits all shapes and all leases.
    std::vector<ShapeCount> unfinished() const;

    // See the functions of these names in reactor.h.
    std::string waiting_for() const;
    std::vector<WaitingTasks> waiting() const;
    std::string why(TaskId task, Now now, Attempt earlier) const;

  private:
    // How many tickets ranks may run at once.
    struct Lanes {
        std::int64_t count = 0;
        Count cores;
    };
    Lanes lanes_of_batch() const;
    std::int64_t able_workers() const;
    std::string what_fits_nowhere() const;
    std::string what_is_blocked() const;
    bool queues_at(const Worker& worker, TaskId task) const;
    std::string why_not_dispatched(TaskId task, Now now) const;
    std::optional<WaitReason> reason_for_all() const;
    WaitReason reason_for(ShapeId shape) const;
    Resources largest_for(ShapeId shape, Now now) const;

    const State& state_;
    const RunCounters& counters_;
    const Ledger& ledger_;
    const WorkerTable& workers_;
    const Fit& fit_;
    const Pool& pool_;
};

}  // namespace wq::engine::policies
