// A taker's side of what is sealed: takes its next part from the counter in rank 0's memory, without a
// message to the giver. For one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/interval_set.h"
#include "ranks/tickets/batch_counter.h"
#include "ranks/tickets/ticket_word.h"
#include "slices/claims/careful_counters.h"
#include "slices/claims/messages.h"

namespace wq::slices::claims {

// Each taker's part of what is left of an epoch is an eighth of an even one: a slow node has little more than
// it can do before the others are done.
inline std::uint64_t part_of(std::uint64_t left, std::uint64_t epoch, std::uint64_t takers) {
    return ranks::tickets::guided_size(std::min(left, epoch), takers, 1, ranks::tickets::kMostTickets, 8);
}

class Drawer {
  public:
    // Null: it draws nothing.
    Drawer(ranks::tickets::Counters* counters, CarefulCounters::Say say)
        : counters_(counters, std::move(say)) {}
    Drawer(const Drawer&) = delete;
    Drawer& operator=(const Drawer&) = delete;

    bool there() const { return counters_.there(); }
    void begin(const Sealed& sealed) { sealed_ = sealed, drawn_ = 0; }
    void end(std::uint32_t batch) {
        if (sealed_ && sealed_->batch == batch) sealed_.reset();
    }

    // For so many takers. nullopt: nothing is left, or the counter fails. May wait for the network.
    std::optional<Interval> draw(std::uint64_t takers) {
        if (!sealed_ || !there()) return std::nullopt;
        const Interval all = sealed_->positions;
        const std::uint64_t part = part_of(all.size() - drawn_, sealed_->epoch, sealed_->takers) * takers;
        const auto amount = std::min<std::uint64_t>(part, ranks::tickets::kMostTickets);
        const auto ticket = counter_.draw(BatchId(sealed_->batch), amount);
        if (!ticket || *ticket >= all.size()) return sealed_.reset(), std::nullopt;
        drawn_ = std::min(*ticket + amount, all.size() - 1);
        const Interval drawn{all.first + *ticket, all.first + std::min(*ticket + amount, all.size())};
        return drawn;
    }

  private:
    CarefulCounters counters_;
    ranks::tickets::BatchCounter counter_{&counters_};
    std::optional<Sealed> sealed_;
    std::uint64_t drawn_ = 0;  // tickets, by all, when we drew last
};

}  // namespace wq::slices::claims
