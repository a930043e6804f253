#include "node/launcher/accounts.h"

#include <algorithm>

#include "node/launcher/shared_page.h"

namespace wq::node::launcher {

namespace {

std::vector<machine::CoreGroups> places_of(const machine::NodeSlice& slice) {
    return slice.places.size() == slice.cores.size() ? slice.places
                                                     : std::vector<machine::CoreGroups>(slice.cores.size());
}

std::vector<int> gpu_nodes_of(const machine::NodeSlice& slice) {
    std::vector<int> nodes = slice.gpu_nodes;
    nodes.resize(slice.gpus.size(), -1);
    return nodes;
}

void add_word(std::string& list, const std::string& word) {
    if (!list.empty()) list += ',';
    list += word;
}

}  // namespace

Accounts::Accounts(machine::NodeSlice slice)
    : slice_(std::move(slice)),
      whole_{static_cast<std::int64_t>(slice_.cores.size()), slice_.memory_mb, slice_.disk_mb,
             static_cast<std::int64_t>(slice_.gpus.size())},
      free_(whole_),
      placement_(places_of(slice_), gpu_nodes_of(slice_)) {
    if (!slice_.of_this_machine) return;
    for (const auto& core : slice_.cores) all_.add(core);
}

std::optional<Holding> Accounts::take(const engine::model::Resources& give) {
    if (!give.fits_in(free_)) return std::nullopt;
    auto seat = placement_.take({give.cores.thousandths(), give.gpus.thousandths()});
    if (!seat) return std::nullopt;
    free_ -= give;
    return Holding{give, std::move(*seat)};
}

Accounts::Lack Accounts::lack(const engine::model::Resources& give) const {
    return {!placement_.fits_cores(give.cores.thousandths()), give.memory_mb > free_.memory_mb,
            give.disk_mb > free_.disk_mb, !placement_.fits_gpus(give.gpus.thousandths())};
}

std::optional<Holding> Accounts::take_behind(const engine::model::Resources& head,
                                             const engine::model::Resources& give) {
    const Lack before = lack(head);
    if ((before.cores && give.cores > 0) || (before.memory && give.memory_mb > 0) ||
        (before.disk && give.disk_mb > 0) || (before.gpus && give.gpus > 0))
        return std::nullopt;
    auto holding = take(give);
    if (!holding || lack(head) == before) return holding;
    give_back(*holding);
    return std::nullopt;
}

void Accounts::give_back(const Holding& holding) {
    placement_.give_back(holding.seat);
    free_ += holding.amount;
}

machine::CpuMask Accounts::mask(const Holding& holding) const {
    machine::CpuMask mask;
    const std::vector<std::size_t>& cores = holding.seat.cores;
    if (slice_.bind == machine::Binding::none || cores.size() == slice_.cores.size()) return mask;
    for (const std::size_t core : cores) mask.add(slice_.cores[core]);
    if (slice_.bind == machine::Binding::core || slice_.places.size() != slice_.cores.size()) return mask;
    for (std::size_t other = 0; other < slice_.cores.size(); ++other) {
        const auto beside = [&](std::size_t core) {
            return slice_.places[core].node == slice_.places[other].node;
        };
        if (std::any_of(cores.begin(), cores.end(), beside)) mask.add(slice_.cores[other]);
    }
    return mask == all_ ? machine::CpuMask{} : mask;
}

std::string Accounts::cores_list(const Holding& holding) const {
    std::string list;
    if (slice_.bind == machine::Binding::none && slice_.places.empty()) return list;
    for (const std::size_t core : holding.seat.cores)
        for (const int unit : slice_.cores[core]) add_word(list, std::to_string(unit));
    return list;
}

std::string Accounts::visible_gpus(const Holding& holding) const {
    std::string list;
    for (const std::size_t gpu : holding.seat.gpus) add_word(list, slice_.gpus[gpu]);
    return list;
}

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
