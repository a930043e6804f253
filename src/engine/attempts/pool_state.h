// Facts of the pool that the table of workers lacks: which workers take tickets, which worker is reserved,
// and when the pool is complete. The version counts the changes of the workers that get tasks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "engine/attempts/reactor_options.h"
#include "engine/model/ledger.h"
#include "engine/model/worker_table.h"

namespace wq::engine::attempts {

// A worker that is kept free for a task that has waited too long.
struct Reservation {
    WorkerId worker;
    model::ShapeId shape;
    model::Among among = model::Among::others;
};

class PoolState {
  public:
    PoolState(const ReactorOptions& options, Instant started)
        : settled_at_(options.expected_workers == 0 ? started : started + options.join_limit),
          ranks_settled_at_(settled_at_) {}

    std::uint64_t version() const { return version_; }
    // Workers that take tickets and get tasks.
    const std::set<WorkerId>& ticket_ranks() const { return ticket_ranks_; }
    const std::optional<Reservation>& reserved() const { return reserved_; }
    // When the run stops waiting for more workers, and for more ranks that take tickets.
    Instant settled_at() const { return settled_at_; }
    Instant ranks_settled_at() const { return ranks_settled_at_; }

    // The worker has joined, or has begun or ceased to get tasks. A member of an open batch stays a member,
    // because it may have claimed some tickets.
    void note_availability(const model::Worker& worker) {
        if (!worker.available()) return forget(worker.id);
        ++version_;
        if (worker.takes_tickets) ticket_ranks_.insert(worker.id);
    }
    void forget(WorkerId worker) {
        ++version_;
        ticket_ranks_.erase(worker);
        if (reserved_ && reserved_->worker == worker) reserved_.reset();
    }

    void reserve(const Reservation& what) { reserved_ = what; }
    void end_reservation() { reserved_.reset(); }

    // All expected workers are there at that time.
    void settle(Instant at) {
        settled_at_ = std::min(settled_at_, at);
        ranks_settled_at_ = std::min(ranks_settled_at_, at);
    }
    // A worker has left and may rejoin until then.
    void expect_again(const model::Worker& worker, Instant until) {
        settled_at_ = std::max(settled_at_, until);
        if (worker.takes_tickets) ranks_settled_at_ = std::max(ranks_settled_at_, settled_at_);
    }

  private:
    std::uint64_t version_ = 1;
    std::set<WorkerId> ticket_ranks_;
    std::optional<Reservation> reserved_;
    Instant settled_at_;
    Instant ranks_settled_at_;
};

}  // namespace wq::engine::attempts
