#include "base/interval_set.h"

#include <algorithm>
#include <iterator>

namespace wq {

void IntervalSet::insert(Interval range) {
    if (range.first >= range.end) return;
    auto it = ranges_.upper_bound(range.first);
    if (it != ranges_.begin() && std::prev(it)->second >= range.first) --it;
    while (it != ranges_.end() && it->first <= range.end) {
        range.first = std::min(range.first, it->first);
        range.end = std::max(range.end, it->second);
        count_ -= it->second - it->first;
        it = ranges_.erase(it);
    }
    ranges_.emplace_hint(it, range.first, range.end);
    count_ += range.size();
}

void IntervalSet::erase(Interval range) {
    if (range.first >= range.end) return;
    auto it = ranges_.upper_bound(range.first);
    if (it != ranges_.begin() && std::prev(it)->second > range.first) --it;
    while (it != ranges_.end() && it->first < range.end) {
        const Interval old{it->first, it->second};
        it = ranges_.erase(it);
        count_ -= old.size();
        if (old.first < range.first) {
            ranges_.emplace(old.first, range.first);
            count_ += range.first - old.first;
        }
        if (old.end > range.end) {
            ranges_.emplace(range.end, old.end);
            count_ += old.end - range.end;
            break;
        }
    }
}

bool IntervalSet::contains(std::uint64_t value) const {
    auto it = ranges_.upper_bound(value);
    return it != ranges_.begin() && std::prev(it)->second > value;
}

std::optional<Interval> IntervalSet::front() const {
    if (ranges_.empty()) return std::nullopt;
    return Interval{ranges_.begin()->first, ranges_.begin()->second};
}

std::optional<Interval> IntervalSet::take_front(std::uint64_t most) {
    auto range = front();
    if (!range) return std::nullopt;
    range->end = range->first + std::min(most, range->size());
    erase(*range);
    return range;
}

}  // namespace wq
