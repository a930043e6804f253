// A rank's tickets: the word shared by the ranks of its node, and how rank 0 refills it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ranks/mpi/mpi_session.h"
#include "ranks/mpi/mpi_ticket_paths.h"
#include "ranks/mpi/segment.h"
#include "ranks/tickets/ticket_pool.h"

namespace wq::manager::run {

// How a node gets its next range from rank 0.
enum class NodeRefill { measured, window, message };

struct NodeTickets {
    std::unique_ptr<ranks::mpi::Segment> segment;
    std::unique_ptr<ranks::tickets::TicketPool> pool;
    std::string name;        // equal on the ranks that share them
    std::string not_shared;  // why ranks of a node do not share them; empty: they do
};

struct RankTickets : NodeTickets {
    std::unique_ptr<ranks::mpi::CounterWindow> counter;  // null: nodes ask by message
    std::string no_window;                               // why the requested counter is missing
    std::string why;  // reason of the measured choice; empty: nothing was measured
};

// Collective over all ranks.
Result<NodeTickets> open_node_tickets(ranks::mpi::MpiSession& session,
                                      const ranks::tickets::PoolShape& shape = {});  // of any ranks
Result<RankTickets> open_tickets(ranks::mpi::MpiSession& session, NodeRefill refill);

}  // namespace wq::manager::run
