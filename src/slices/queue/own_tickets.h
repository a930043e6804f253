// Tickets of a process that shares them with none: a worker, or a program alone.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "ranks/mpi/segment.h"
#include "manager/run/mpi_tickets.h"

namespace wq::slice_queue {

inline run::NodeTickets own_tickets(std::string name) {
    constexpr tickets::PoolShape shape{1, 0};
    run::NodeTickets own;
    own.name = std::move(name);
    own.segment = mpi::make_private_segment(tickets::TicketPool::bytes_needed(shape));
    tickets::TicketPool::format(own.segment->data(), shape);
    own.pool = std::make_unique<tickets::TicketPool>(own.segment->data(), shape, 0);
    return own;
}

}  // namespace wq::slice_queue
