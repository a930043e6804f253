// A rank's tickets: the word that it shares with the ranks of its node, and how that is filled from rank 0.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "transport/mpi_counter_window.h"
#include "transport/mpi_session.h"
#include "transport/segment.h"
#include "transport/ticket_pool.h"

namespace wq::app {

// How a node fetches its next range from rank 0.
enum class NodeRefill { measured, window, message };

struct RankTickets {
    std::unique_ptr<transport::Segment> segment;
    std::unique_ptr<transport::TicketPool> pool;
    std::unique_ptr<transport::CounterWindow> counter;  // null: by message
    std::string no_window;                              // why there is no counter although one was asked for
    std::string why;  // what the measurement chose; empty: nothing was measured
};

// Collective over all ranks.
Result<RankTickets> open_tickets(transport::MpiSession& session, NodeRefill refill);

}  // namespace wq::app
