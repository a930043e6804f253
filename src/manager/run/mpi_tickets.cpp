#include "manager/run/mpi_tickets.h"

#include "ranks/mpi/mpi_shared_window.h"
#include "ranks/mpi/mpi_ticket_paths.h"
#include "ranks/tickets/sealed_batch.h"

namespace wq::manager::run {

namespace {

// Level 2 of tickets.
Status open_counter(ranks::mpi::MpiSession& session, NodeRefill refill, RankTickets& tickets) {
    auto window = ranks::mpi::CounterWindow::open(session, ranks::tickets::BatchCounter::counters);
    if (window)
        tickets.counter = std::move(*window);
    else
        tickets.no_window = window.error().message;
    if (refill == NodeRefill::window) return success();
    const auto paths = ranks::mpi::measure_ticket_paths(session, tickets.counter.get(), tickets.no_window);
    if (!paths) return paths.error();
    if (!paths->window) tickets.counter.reset();
    tickets.why = paths->why;
    return success();
}

}  // namespace

Result<NodeTickets> open_node_tickets(ranks::mpi::MpiSession& session,
                                      const ranks::tickets::PoolShape& wanted) {
    NodeTickets tickets;
    ranks::tickets::PoolShape shape = wanted;
    shape.ranks = static_cast<std::uint32_t>(session.node_size());
    auto self = static_cast<std::uint32_t>(session.node_rank());
    tickets.name = "node of rank " + std::to_string(session.node_mates().front());
    Status all = success();
    if (session.size() > 1 && shape.ranks <= ranks::tickets::kMostClaimers) {
        auto shared = ranks::mpi::open_node_segment(session, ranks::tickets::TicketPool::bytes_needed(shape));
        if (shared)
            tickets.segment = std::move(*shared);
        else
            all = shared.error();
    }
    all = session.agree_world(all);
    if (!all) tickets.not_shared = all.error().message;
    if (!tickets.segment) {  // too many ranks, or no shared memory: every rank is a separate node
        shape.ranks = 1;
        self = 0;
        tickets.name = "rank " + std::to_string(session.rank());
        tickets.segment = ranks::mpi::make_private_segment(ranks::tickets::TicketPool::bytes_needed(shape));
    }
    if (self == 0) ranks::tickets::TicketPool::format(tickets.segment->data(), shape);
    if (const auto formatted = session.gather_node(""); !formatted)  // nobody attaches before it is formatted
        return formatted.error();
    tickets.pool = std::make_unique<ranks::tickets::TicketPool>(tickets.segment->data(), shape, self);
    return tickets;
}

Result<RankTickets> open_tickets(ranks::mpi::MpiSession& session, NodeRefill refill) {
    RankTickets tickets;
    auto node = open_node_tickets(session);
    if (!node) return node.error();
    static_cast<NodeTickets&>(tickets) = std::move(*node);
    if (session.node_size() == session.size() || refill == NodeRefill::message) return tickets;
    if (const Status opened = open_counter(session, refill, tickets); !opened) return opened.error();
    return tickets;
}

}  // namespace wq::manager::run
