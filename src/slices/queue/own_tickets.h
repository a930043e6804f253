// Tickets of a process that shares them with none: a worker, or a program alone.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "manager/run/mpi_tickets.h"
#include "ranks/mpi/segment.h"

namespace wq::slices::queue {

inline manager::run::NodeTickets own_tickets(std::string name) {
    constexpr ranks::tickets::PoolShape shape{1, 0};
    manager::run::NodeTickets own;
    own.name = std::move(name);
    own.segment = ranks::mpi::make_private_segment(ranks::tickets::TicketPool::bytes_needed(shape));
    ranks::tickets::TicketPool::format(own.segment->data(), shape);
    own.pool = std::make_unique<ranks::tickets::TicketPool>(own.segment->data(), shape, 0);
    return own;
}

}  // namespace wq::slices::queue
