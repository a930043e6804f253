#include "views/report/spread.h"

#include <algorithm>

namespace wq::views::report {

Spread spread_of(std::vector<Repeated>& values) {
    Spread spread;
    if (values.empty()) return spread;
    std::sort(values.begin(), values.end(),
              [](const Repeated& a, const Repeated& b) { return a.value < b.value; });
    double sum = 0;
    for (Repeated& each : values) {
        sum += each.value * static_cast<double>(each.count);
        each.count = spread.count += each.count;
    }
    if (spread.count == 0) return spread;
    const auto value_at = [&](std::uint64_t place) {
        const auto found =
            std::upper_bound(values.begin(), values.end(), std::min(place, spread.count - 1),
                             [](std::uint64_t at, const Repeated& each) { return at < each.count; });
        return found->value;
    };
    const auto quantile = [&](double share) {
        const double at = share * static_cast<double>(spread.count - 1);
        const auto low = static_cast<std::uint64_t>(at);
        const double value = value_at(low);
        return value + (at - static_cast<double>(low)) * (value_at(low + 1) - value);
    };
    spread.least = values.front().value;
    spread.lower_quartile = quantile(0.25);
    spread.median = quantile(0.5);
    spread.upper_quartile = quantile(0.75);
    spread.percentile_95 = quantile(0.95);
    spread.most = values.back().value;
    spread.mean = sum / static_cast<double>(spread.count);
    return spread;
}

}  // namespace wq::views::report
