// The tickets of a node, as its ranks share them.
#pragma once

#include <cstdlib>
#include <memory>

#include "ranks/tickets/ticket_pool.h"

namespace wq::slices::claims {

class NodeTickets {
  public:
    explicit NodeTickets(std::uint32_t ranks) : shape_{ranks, 128} {
        const std::size_t bytes = (ranks::tickets::TicketPool::bytes_needed(shape_) + 127) / 128 * 128;
        memory_.reset(static_cast<std::byte*>(std::aligned_alloc(128, bytes)));
        ranks::tickets::TicketPool::format(memory_.get(), shape_);
    }
    std::unique_ptr<ranks::tickets::TicketPool> of(std::uint32_t rank) {
        return std::make_unique<ranks::tickets::TicketPool>(memory_.get(), shape_, rank);
    }

  private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    ranks::tickets::PoolShape shape_;
    std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace wq::slices::claims
