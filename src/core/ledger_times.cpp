// Tasks that may not start before a time, or expire at one: kept in order of that time, so that the passing
// of time costs only what it changes.
#include <algorithm>

#include "core/ledger.h"

namespace wq::core {

void Ledger::set_expiring(Interval tasks, bool waits) {
    if (times_.size() == 1) return;  // none has times
    for_each_range(tasks, [&](Interval part, const RangeInfo& range) {
        const Times& times = times_[range.times];
        if (!times.not_after) return;
        const auto at = expiring_.try_emplace(*times.not_after).first;
        waits ? at->second.insert(part) : at->second.erase(part);
        if (at->second.empty()) expiring_.erase(at);
    });
}

void Ledger::advance(WallMicros wall) {
    wall_ = std::max(wall_, wall);
    while (!starting_.empty() && starting_.begin()->first <= wall_) {
        const auto started = starting_.extract(starting_.begin());
        started.mapped().for_each([&](Interval part) { early_.erase(part); });
        started.mapped().for_each([&](Interval part) { set_ready(part, true); });
    }
}

std::optional<WallMicros> Ledger::next_time() const {
    std::optional<WallMicros> next;
    for (const auto* index : {&starting_, &expiring_})
        if (!index->empty()) next = std::min(next.value_or(index->begin()->first), index->begin()->first);
    return next;
}

IntervalSet Ledger::expired() const {
    if (expiring_.empty() || expiring_.begin()->first > wall_) return {};
    return expiring_.begin()->second;
}

}  // namespace wq::core
