// What the living takers of a node have. They are asked when one was lost, and from then on drop tickets of
// older batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/interval_set.h"
#include "base/time.h"
#include "slices/claims/address.h"

namespace wq::slices::claims {

class Recount {
  public:
    // The first batch of the node.
    explicit Recount(std::uint32_t batch) : batch_(batch) {}

    std::uint32_t batch() const { return batch_; }
    bool pending() const { return !missing_.empty(); }
    void begin(std::uint32_t batch, const std::set<Address>& takers) {
        batch_ = batch;
        missing_ = takers;
        present_ = {};
        for (const Address& taker : takers) taker.send(Count{batch});
    }
    void cancel() { missing_.clear(); }

    // All that they have, once the last one has answered.
    std::optional<IntervalSet> answer(const Address& from, const Present& present) {
        if (present.batch != batch_ || missing_.erase(from) == 0) return std::nullopt;
        present.positions.for_each([&](const Interval& range) { present_.insert(range); });
        if (pending()) return std::nullopt;
        return std::exchange(present_, {});
    }
    // Granted meanwhile: answers that are under way do not have these yet.
    void granted(Interval positions) {
        if (pending()) present_.insert(positions);
    }
    // Drawn by a taker. What it drew before it was asked is in its answer, as far as somebody has it.
    void drawn(const Address& by, Interval positions) {
        if (!missing_.contains(by)) granted(positions);
    }

    // Nodes are also asked without a lost taker, while others wait: seldom, if nothing is found.
    bool due(Instant now) const { return !pending() && now >= due_; }
    void postpone(Instant now) { due_ = now + pause_; }
    void ask_soon() { pause_ = shortest; }
    void ask_later() { pause_ = std::min(2 * pause_, longest); }
    static constexpr Duration shortest = std::chrono::seconds(1);

  private:
    static constexpr Duration longest = std::chrono::seconds(30);
    std::uint32_t batch_;
    std::set<Address> missing_;  // answers
    IntervalSet present_;
    Duration pause_{};
    Instant due_{};
};

}  // namespace wq::slices::claims
