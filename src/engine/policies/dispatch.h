// Decides which task goes to which worker.
//
// A task that did not fit can only fit after a change, so each event triggers two kinds of searches. Shapes
// that got their first ready tasks look for workers, the one with the most room first, so that work spreads.
// Workers that got room look for tasks, by priority and then in the order of the list. A shape that does not
// fit is skipped; after a while a worker is reserved for it. Suspects (tasks that were lost with a worker
// before) go first, one at a time per worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class Dispatch : Policy {
  public:
    explicit Dispatch(Shared& shared)
        : Policy(shared),
          options_(shared.state.options),
          run_(shared.state.run),
          pool_state_(shared.state.pool),
          awakened_(shared.state.awakened) {}

    // Called after each event while tasks are dispatched (Fit::dispatches()): first end an idle reservation,
    // then lease tasks.
    void end_idle_reservation();
    void dispatch();

    void tuned(const Tuned& event);
    std::optional<std::string> audit() const;

  private:
    std::optional<TaskId> takes(const Worker& worker, ShapeId shape, Among among) const;
    std::optional<TaskId> takes_suspect(const Worker& worker, ShapeId shape, const Resources& give) const;

    void spread(const std::vector<ShapeId>& shapes);
    void spread_suspects(ShapeId shape);
    ShapeId most_urgent_for(const Worker& worker, const ReadyHead& head) const;
    Worker* roomiest(ShapeId shape, Among among);
    std::optional<Worker*> roomiest_of(const Places& places, ShapeId shape, Among among);

    void fill(Worker& worker);
    void fill_with_suspect(Worker& worker);
    void fill_with_others(Worker& worker);

    void lease(Worker& worker, TaskId task, ShapeId shape);
    void reserve(const Worker& worker, ShapeId shape, Among among);
    void end_reservation();

    ReactorOptions& options_;
    RunPhase& run_;
    PoolState& pool_state_;
    std::vector<ShapeId>& awakened_;
    PerShape<std::uint64_t> passed_over_;  // leases of lower-priority shapes while the shape waited
};

}  // namespace wq::engine::policies
