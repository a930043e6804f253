#include "node/launcher/accounts.h"

#include <algorithm>

namespace wq::node::launcher {

namespace {

std::vector<machine::Place> places_of(const machine::Slice& slice) {
    return slice.places.size() == slice.cores.size() ? slice.places
                                                     : std::vector<machine::Place>(slice.cores.size());
}

std::vector<int> gpu_nodes_of(const machine::Slice& slice) {
    std::vector<int> nodes = slice.gpu_nodes;
    nodes.resize(slice.gpus.size(), -1);
    return nodes;
}

void add_word(std::string& list, const std::string& word) {
    if (!list.empty()) list += ',';
    list += word;
}

}  // namespace

Accounts::Accounts(machine::Slice slice)
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

}  // namespace wq::node::launcher
