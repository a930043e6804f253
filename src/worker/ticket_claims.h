// Decides how much a rank claims by ticket, and when: tasks, or ranges of calls that run in this process. It
// keeps the claimed ranges until they are reported, and accounts for a batch that has no tickets left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/interval_set.h"
#include "base/time.h"
#include "engine/model/run_times.h"
#include "net/messages/messages.h"
#include "node/launcher/function_runner.h"
#include "worker/manager_link.h"
#include "worker/ticket_client.h"

namespace wq::worker {

// Computes how many indexes of a range a rank claims at once, from their run times: enough to make the cost
// of claiming negligible, few enough that all ranks end together.
class ClaimSize {
  public:
    void begin() { *this = {}; }  // another function
    void ended(std::uint64_t count, std::int64_t wall_us) {
        if (count == 0) return;
        // If less than a microsecond was measured, half a microsecond is a good guess.
        const double mean = std::max(static_cast<double>(wall_us), 0.5) / static_cast<double>(count);
        mean_us_ = mean_us_ < 0 ? mean : mean_us_ + 0.3 * (mean - mean_us_);
        trust_ = std::min(8 * trust_, most);
    }
    // `left`: indexes left in the node's word, for `ranks` ranks.
    std::uint64_t claim(std::uint64_t left, std::uint64_t ranks) const {
        if (mean_us_ < 0) return 1;
        const double fits = claim_us / mean_us_;
        const std::uint64_t by_time = fits < 1 ? 1 : fits > double(trust_) ? trust_ : std::uint64_t(fits);
        return std::clamp<std::uint64_t>(left / (2 * ranks), 1, by_time);
    }

  private:
    static constexpr double claim_us = 25'000;
    static constexpr std::uint64_t most = 1u << 20;
    double mean_us_ = -1;
    std::uint64_t trust_ = 1;  // claims grow eightfold at most, because the first few may be untypical
};

// Computes how many tasks a worker's launcher queues, from the run times of its tasks.
class Prefetch {
  public:
    void ended(std::int64_t wall_us) { mean_.add(static_cast<double>(wall_us)); }
    // Tasks to queue in addition to the `lanes` that run.
    std::int64_t ahead(std::int64_t lanes) const { return engine::model::queue_depth(mean_, lanes); }

  private:
    engine::model::MeanWallTime mean_;
};

class TicketClaims {
  public:
    // `tickets`: null: all tasks come as leases. `functions`: null: only the launcher has functions.
    TicketClaims(TicketClient* tickets, node::launcher::FunctionRunner* functions, const HeldTasks& held,
                 ManagerLink& link)
        : tickets_(tickets), functions_(functions), held_(held), link_(link) {}

    void on(const net::messages::SealedBatch& message);
    void on(const net::messages::Tickets& message);
    void on(const net::messages::RevokedBatch& message);

    // Whether the batch is a range for this process. If so, call take_ranges(), not take().
    bool direct_calls() const;
    // Tasks to run now.
    std::vector<net::messages::Lease> take(Instant now);
    // Claims a range and passes it to the functions. Returns whether there was any.
    bool take_ranges(Instant now);
    // Tells the manager which tasks of a batch we run, if it has no tickets left.
    void give_account(Instant now);

    void note_run_time(std::int64_t wall_us) { prefetch_.ended(wall_us); }  // of a task
    // The caller answers the failed calls of the range.
    void on_report(node::launcher::RangeProgress& report);
    bool has_ranges() const { return !ranges_.empty(); }
    // Ranges stop after the running call; the rest is returned.
    void return_ranges();
    void return_ranges_with(Interval tasks);  // if a range has any of them

  private:
    bool ranges_are_few(Instant now);

    TicketClient* tickets_;
    node::launcher::FunctionRunner* functions_;
    const HeldTasks& held_;
    ManagerLink& link_;
    Prefetch prefetch_;
    ClaimSize claim_size_;
    IntervalSet ranges_;                 // claimed, run as ranges, not yet reported
    std::optional<BatchId> accounted_;   // its tickets that we held are now leases
    std::optional<Instant> many_since_;  // our account waits for ranges to end
};

}  // namespace wq::worker
