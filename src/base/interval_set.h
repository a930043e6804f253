// A set of 64-bit numbers as disjoint half-open ranges: a million finished tasks cost only their gaps. 2^64
// - 1 cannot be in it (its range would have no end); inserting it does nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace wq {

struct Interval {
    std::uint64_t first = 0;
    std::uint64_t end = 0;  // one past the last
    std::uint64_t size() const { return end - first; }
    bool operator==(const Interval&) const = default;
};

class IntervalSet {
  public:
    void insert(std::uint64_t value) { insert({value, value + 1}); }
    void insert(Interval range);  // parts already present are kept
    void erase(std::uint64_t value) { erase({value, value + 1}); }
    void erase(Interval range);  // parts not present are skipped
    bool contains(std::uint64_t value) const;
    std::uint64_t count() const { return count_; }  // numbers, not ranges
    std::size_t ranges() const { return ranges_.size(); }
    bool empty() const { return ranges_.empty(); }
    std::optional<Interval> front() const;  // the lowest range
    std::optional<Interval> back() const;   // the highest
    // The first range that ends after `value`, without its part below `value`.
    std::optional<Interval> from(std::uint64_t value) const;
    // The last range that begins before `value`, without its part from `value` on.
    std::optional<Interval> before(std::uint64_t value) const;
    std::optional<Interval> take_front(
        std::uint64_t most);  // removes and returns up to `most` of the lowest range
    template <class F>
    void for_each(F&& visit) const {
        for (const auto& [first, end] : ranges_) visit(Interval{first, end});
    }
    // The parts of the set's ranges that lie within `within`, lowest first.
    template <class F>
    void for_each_in(Interval within, F&& visit) const {
        auto it = ranges_.upper_bound(within.first);
        if (it != ranges_.begin()) --it;
        for (; it != ranges_.end() && it->first < within.end; ++it) {
            const Interval part{it->first > within.first ? it->first : within.first,
                                it->second < within.end ? it->second : within.end};
            if (part.first < part.end) visit(part);
        }
    }
    bool operator==(const IntervalSet& other) const { return ranges_ == other.ranges_; }

  private:
    std::map<std::uint64_t, std::uint64_t> ranges_;  // first -> end
    std::uint64_t count_ = 0;
};

}  // namespace wq
