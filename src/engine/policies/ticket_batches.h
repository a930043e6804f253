// Manages ticket batches: seals tasks for the MPI pool if many have one shape, and settles the accounts of a
// batch that has run dry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class TicketBatches : Policy {
  public:
    explicit TicketBatches(Shared& shared)
        : Policy(shared),
          options_(shared.state.options),
          batch_(shared.state.batch),
          doubtful_(shared.state.doubtful) {}

    void on(const TicketsReported& event);

    void reconnected(Worker& worker, const IntervalSet& tickets);
    void worker_gone(const RemovedWorker& worker);
    void tuned(const Tuned& event);
    std::optional<std::string> audit() const;

    void seal_where_tasks_abound();
    void close_if_over();

  private:
    bool fits_all_ranks(ShapeId shape);
    IntervalSet sealable(ShapeId shape);
    void seal(ShapeId shape, IntervalSet tasks);
    void account(Worker& worker, const IntervalSet& holding);
    void reconcile();
    void lose_ticket(TaskId task);

    ReactorOptions& options_;
    std::optional<Batch>& batch_;
    IntervalSet& doubtful_;
    std::uint32_t next_batch_ = 1;
    PerShape<std::uint64_t> misfit_;  // pool version when some rank was too small for the shape
};

}  // namespace wq::engine::policies
