#include "app/mpi_tickets.h"

#include "app/batch_counter.h"
#include "transport/mpi_shared_window.h"
#include "transport/ticket_paths.h"

namespace wq::app {

namespace {

Status open_pool(transport::MpiSession& session, RankTickets& tickets) {
    transport::PoolShape shape;
    shape.ranks = static_cast<std::uint32_t>(session.node_size());
    auto self = static_cast<std::uint32_t>(session.node_rank());
    if (session.size() > 1 && shape.ranks <= transport::kMostClaimers) {
        auto shared = transport::open_node_segment(session, transport::TicketPool::bytes_needed(shape));
        if (shared) tickets.segment = std::move(*shared);
    }
    if (!tickets
             .segment) {  // too many ranks, or an MPI without shared windows: every rank is a node of its own
        shape.ranks = 1;
        self = 0;
        tickets.segment = transport::make_private_segment(transport::TicketPool::bytes_needed(shape));
    }
    if (self == 0) transport::TicketPool::format(tickets.segment->data(), shape);
    if (const auto formatted = session.gather_node(""); !formatted)  // nobody attaches before it is
        return formatted.error();
    tickets.pool = std::make_unique<transport::TicketPool>(tickets.segment->data(), shape, self);
    return success();
}

// Level 2 of tickets.
Status open_counter(transport::MpiSession& session, NodeRefill refill, RankTickets& tickets) {
    auto window = transport::CounterWindow::open(session, BatchCounter::counters);
    if (window)
        tickets.counter = std::move(*window);
    else
        tickets.no_window = window.error().message;
    if (refill == NodeRefill::window) return success();
    const auto paths = transport::measure_ticket_paths(session, tickets.counter.get(), tickets.no_window);
    if (!paths) return paths.error();
    if (!paths->window) tickets.counter.reset();
    tickets.why = paths->why;
    return success();
}

}  // namespace

Result<RankTickets> open_tickets(transport::MpiSession& session, NodeRefill refill) {
    RankTickets tickets;
    if (const Status opened = open_pool(session, tickets); !opened) return opened.error();
    if (session.node_size() == session.size() || refill == NodeRefill::message) return tickets;
    if (const Status opened = open_counter(session, refill, tickets); !opened) return opened.error();
    return tickets;
}

}  // namespace wq::app
