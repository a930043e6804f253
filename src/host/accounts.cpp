#include "host/accounts.h"

#include "host/pick_cores.h"

namespace wq::host {

namespace {
std::size_t to_count(std::int64_t value) {
    return value < 0 ? 0 : static_cast<std::size_t>(value);
}
}  // namespace

Accounts::Accounts(Slice slice)
    : slice_(std::move(slice)),
      whole_{static_cast<std::int64_t>(slice_.cores.size()), slice_.memory_mb, slice_.disk_mb,
             static_cast<std::int64_t>(slice_.gpus.size())},
      free_(whole_),
      free_cores_(slice_.cores.size(), true),
      free_gpus_(slice_.gpus.size(), true) {
    for (const auto& core : slice_.cores) all_.add(core);
}

std::optional<Holding> Accounts::take(const core::Resources& give) {
    if (!give.fits_in(free_)) return std::nullopt;
    Holding holding;
    holding.amount = give;
    holding.cores = pick_cores(free_cores_, to_count(give.cores.rounded_up()));
    holding.gpus = pick_cores(free_gpus_, to_count(give.gpus.rounded_up()));
    for (const std::size_t core : holding.cores) free_cores_[core] = false;
    for (const std::size_t gpu : holding.gpus) free_gpus_[gpu] = false;
    free_ -= give;
    return holding;
}

void Accounts::give_back(const Holding& holding) {
    for (const std::size_t core : holding.cores) free_cores_[core] = true;
    for (const std::size_t gpu : holding.gpus) free_gpus_[gpu] = true;
    free_ += holding.amount;
}

CpuMask Accounts::mask(const Holding& holding) const {
    CpuMask mask;
    if (!slice_.bind || holding.cores.size() == slice_.cores.size()) return mask;
    for (const std::size_t core : holding.cores) mask.add(slice_.cores[core]);
    return mask;
}

std::string Accounts::visible_gpus(const Holding& holding) const {
    std::string text;
    for (const std::size_t gpu : holding.gpus) {
        if (!text.empty()) text += ',';
        text += slice_.gpus[gpu];
    }
    return text;
}

}  // namespace wq::host
