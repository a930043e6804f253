#include "node/launcher/order_queue.h"

#include <algorithm>

#include "node/launcher/shared_page.h"

namespace wq::node::launcher {

void OrderQueue::push_back(process::OrderMessage message) {
    alike_ = empty() || (alike_ && orders_.back().order.give == message.order.give);
    orders_.push_back(std::move(message));
}

void OrderQueue::push_front(process::OrderMessage message) {
    alike_ = empty() || (alike_ && front().order.give == message.order.give);
    orders_.push_front(std::move(message));
}

process::OrderMessage OrderQueue::take(std::size_t position) {
    const auto order = orders_.begin() + static_cast<std::ptrdiff_t>(position);
    process::OrderMessage taken = std::move(*order);
    orders_.erase(order);
    return taken;
}

std::optional<process::OrderMessage> OrderQueue::take(TaskId task, Attempt attempt) {
    const auto order =
        std::find_if(orders_.begin(), orders_.end(), [&](const process::OrderMessage& message) {
            return message.order.task == task && message.order.attempt == attempt;
        });
    if (order == orders_.end()) return std::nullopt;
    return take(static_cast<std::size_t>(order - orders_.begin()));
}

std::optional<OrderQueue::Next> OrderQueue::next(Accounts& accounts) const {
    if (auto holding = accounts.take(front().order.give)) return Next{0, std::move(*holding)};
    return alike_ ? std::nullopt : next_behind_head(accounts);
}

// It does not pass an order that sees other `#!` lines, because the shell runs those lines in order.
std::optional<OrderQueue::Next> OrderQueue::next_behind_head(Accounts& accounts) const {
    const process::Order& head = front().order;
    std::optional<engine::model::Resources> in_vain;
    const std::size_t end = std::min(orders_.size(), most_passed_over + 1);
    for (std::size_t at = 1; at < end; ++at) {
        const process::Order& order = orders_[at].order;
        if (order.environment_position != head.environment_position) return std::nullopt;
        if (order.give == in_vain) continue;
        if (auto holding = accounts.take_behind(head.give, order.give)) return Next{at, std::move(*holding)};
        in_vain = order.give;
    }
    return std::nullopt;
}

std::vector<std::uint64_t> OrderQueue::ahead_of(std::size_t position) const {
    std::vector<std::uint64_t> serials;
    serials.reserve(position);
    for (std::size_t at = 0; at < position; ++at) serials.push_back(orders_[at].serial);
    return serials;
}

}  // namespace wq::node::launcher
