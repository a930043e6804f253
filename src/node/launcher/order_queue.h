// Queues orders that wait for their start, in order of arrival.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "node/launcher/accounts.h"
#include "node/launcher/launcher_wire.h"

namespace wq::node::launcher {

class OrderQueue {
  public:
    struct Next {
        std::size_t position = 0;
        Holding holding;
    };

    bool empty() const { return orders_.empty(); }
    std::size_t size() const { return orders_.size(); }
    const process::OrderMessage& front() const { return orders_.front(); }
    const process::OrderMessage& at(std::size_t position) const { return orders_[position]; }

    void push_back(process::OrderMessage message);
    void push_front(process::OrderMessage message);
    process::OrderMessage pop_front() { return take(0); }
    process::OrderMessage pop_back() { return take(orders_.size() - 1); }
    process::OrderMessage take(std::size_t position);
    std::optional<process::OrderMessage> take(TaskId task, Attempt attempt);  // nullopt: it does not wait

    // The first order that fits now, and what `accounts` gave it. An order behind the head starts only if the
    // head starts no later for it. nullopt: none fits. The queue must not be empty.
    std::optional<Next> next(Accounts& accounts) const;
    // Serial numbers of the orders before this position.
    std::vector<std::uint64_t> ahead_of(std::size_t position) const;

  private:
    std::optional<Next> next_behind_head(Accounts& accounts) const;

    std::deque<process::OrderMessage> orders_;
    // True: all orders need the same amounts, so if the head does not fit, none does. False also after the
    // orders that differed have left.
    bool alike_ = true;
};

}  // namespace wq::node::launcher
