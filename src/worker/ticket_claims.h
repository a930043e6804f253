// Decides how much a rank claims by ticket, and when: tasks, or ranges of calls that run in this process. It
// keeps the claimed ranges until they are reported, and accounts for a batch that has no tickets left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/interval_set.h"
#include "base/time.h"
#include "net/messages/messages.h"
#include "node/launcher/function_runner.h"
#include "worker/claim_size.h"
#include "worker/held_tasks.h"
#include "worker/manager_link.h"
#include "worker/prefetch.h"
#include "worker/ticket_client.h"

namespace wq::worker {

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
