// What people are shown of a category.
#include <string>

#include "core/category.h"

namespace wq::core {

namespace {

// Without the zeros that end it.
std::string from_thousandths(std::int64_t amount) {
    std::string text = std::to_string(amount / 1000);
    if (amount % 1000 == 0) return text;
    std::string decimals = std::to_string(1000 + amount % 1000).substr(1);
    while (decimals.ends_with('0')) decimals.pop_back();
    return text + "." + decimals;
}

}  // namespace

// What a task says itself is the most only as far as none was seen to take more.
Largest Category::largest(ResourceKind kind) const {
    using By = Largest::By;
    if (max_.at(kind) >= 0) return {By::user, max_.at(kind)};
    const Largest said{By::user, largest_said_.at(kind)};
    const Largest peak{By::peak, peaks_.at(kind).largest()};
    const Largest exhausted{By::exhaustion, largest_exhausted_.at(kind)};
    Largest most;
    for (const Largest& known : {said, peak, exhausted})
        if (known.size > most.size) most = known;
    return most;
}

std::string describe(const Largest& largest, ResourceKind kind) {
    if (largest.by == Largest::By::nothing) return "na";
    const bool counted = kind == ResourceKind::cores || kind == ResourceKind::gpus;
    const std::string size = counted ? from_thousandths(largest.size) : std::to_string(largest.size);
    switch (largest.by) {
        case Largest::By::peak:
            return "~" + size;
        case Largest::By::exhaustion:
            return ">" + size;
        default:
            return size;
    }
}

}  // namespace wq::core
