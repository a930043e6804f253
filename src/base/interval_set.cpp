#include "base/interval_set.h"

#include <algorithm>
#include <iterator>

namespace wq {

void IntervalSet::insert(Interval range) {
    if (range.first >= range.end) return;
    auto next = ranges_.upper_bound(range.first);
    auto it = next;
    if (next != ranges_.begin() && std::prev(next)->second >= range.first) {
        // Tasks mostly end in order, so the previous range is extended in place, without allocating or
        // freeing a node.
        it = std::prev(next);
        if (it->second >= range.end) return;
        count_ += range.end - it->second;
        it->second = range.end;
    } else {
        it = ranges_.emplace_hint(next, range.first, range.end);
        count_ += range.size();
    }
    while (next != ranges_.end() && next->first <= it->second) {
        count_ -= std::min(next->second, it->second) - next->first;
        it->second = std::max(it->second, next->second);
        next = ranges_.erase(next);
    }
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

std::optional<Interval> IntervalSet::back() const {
    if (ranges_.empty()) return std::nullopt;
    return Interval{ranges_.rbegin()->first, ranges_.rbegin()->second};
}

std::optional<Interval> IntervalSet::before(std::uint64_t value) const {
    auto it = ranges_.lower_bound(value);
    if (it == ranges_.begin()) return std::nullopt;
    --it;
    return Interval{it->first, std::min(it->second, value)};
}

std::optional<Interval> IntervalSet::from(std::uint64_t value) const {
    auto it = ranges_.upper_bound(value);
    if (it != ranges_.begin() && std::prev(it)->second > value) return Interval{value, std::prev(it)->second};
    if (it == ranges_.end()) return std::nullopt;
    return Interval{it->first, it->second};
}

std::optional<Interval> IntervalSet::take_front(std::uint64_t most) {
    auto range = front();
    if (!range) return std::nullopt;
    range->end = range->first + std::min(most, range->size());
    erase(*range);
    return range;
}

}  // namespace wq
