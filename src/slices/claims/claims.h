// How a taker claims from the tickets of its node, and installs new ones for all of the node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/interval_set.h"
#include "base/time.h"
#include "ranks/tickets/ticket_pool.h"

namespace wq::slices::claims {

class Claims {
  public:
    explicit Claims(ranks::tickets::TicketPool& pool) : pool_(pool) {}

    // Tickets of older batches are void from now on. Returns those of this batch that it had claimed before.
    std::optional<Interval> begin(std::uint32_t batch) {
        batch_ = BatchId(batch);
        if (!ahead_ || ahead_->batch > batch_) return std::nullopt;
        const ranks::tickets::TicketRange ahead = *std::exchange(ahead_, std::nullopt);
        return ahead.batch == batch_ ? std::optional(positions_of(ahead)) : std::nullopt;
    }
    bool has_begun() const { return batch_.value() != 0; }  // the giver knows us
    // Claimed from a batch that the giver has not told us of: a mate was told before. A taker that is lost,
    // and does not know it yet, stays here.
    bool is_ahead() const { return ahead_.has_value(); }

    // Up to `most`, or fewer if little is left for each of the node.
    std::optional<Interval> claim(std::uint32_t most) {
        while (!ahead_) {
            const std::uint64_t part = ranks::tickets::guided_size(pool_.remaining(), pool_.ranks(), 1, most);
            const ranks::tickets::Claim claim = pool_.take(static_cast<std::uint32_t>(part));
            if (claim.state == ranks::tickets::Claim::State::dry) break;
            // Overwritten: nobody has these any more; the giver finds that.
            if (claim.state == ranks::tickets::Claim::State::overwritten) continue;
            if (claim.range.batch == batch_) return positions_of(claim.range);
            if (claim.range.batch > batch_) ahead_ = claim.range;
        }
        return std::nullopt;
    }

    std::uint32_t mates() const { return pool_.ranks(); }  // and this one
    bool are_left() const {
        const auto left = pool_.unclaimed();
        return left && left->batch >= batch_;
    }
    // False: a mate was faster.
    bool install(const Interval& positions) {
        if (const auto stale = pool_.unclaimed(); stale && stale->batch < batch_) pool_.revoke(stale->batch);
        if (positions.size() > ranks::tickets::kMostTickets) return false;
        const ranks::tickets::TicketRange range{batch_, positions.first,
                                                static_cast<std::uint32_t>(positions.size())};
        return pool_.install(range) == ranks::tickets::Install::installed;
    }
    // Whether this one draws for all. A mate that does is waited for at most so long: it may have been
    // killed. (Longer than rank 0 pauses between two calls of MPI, twice.)
    bool begin_draw(Instant now) { return pool_.refill_turn(now, std::chrono::milliseconds(50)); }
    void end_draw() { pool_.end_refill_turn(); }

  private:
    static Interval positions_of(const ranks::tickets::TicketRange& range) {
        return {range.first, range.first + range.count};
    }

    ranks::tickets::TicketPool& pool_;
    BatchId batch_{0};
    std::optional<ranks::tickets::TicketRange> ahead_;
};

}  // namespace wq::slices::claims
