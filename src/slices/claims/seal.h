// The giver's side of what is sealed: a long range of positions that takers draw by themselves, through the
// counter in rank 0's memory (ranks/tickets/batch_counter.h), and tell afterwards.
//
// When a taker is lost, nobody knows what it drew and has not told. So the seal is closed: the counter tells
// how far it was drawn, and the living tell what they drew. What nobody tells was lost. The next seal begins
// when all have answered: so none that lives draws from it by mistake.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "ranks/tickets/batch_counter.h"
#include "slices/claims/address.h"
#include "slices/claims/careful_counters.h"
#include "slices/plan/ledger.h"

namespace wq::slices::claims {

class Seal {
  public:
    // Null: takers ask for all by message. `batch`: numbers of batches follow it. If the counters served
    // another seal before, a random one, so that none is the same.
    void use(ranks::tickets::Counters* counters, CarefulCounters::Say say, std::uint32_t batch) {
        counters_ = CarefulCounters(counters, std::move(say));
        batch_ = batch;
    }
    bool there() const { return counters_.there(); }
    bool may_serve() const { return counters_.may_serve(); }
    bool is_none() const { return state_ == State::none; }
    bool is_open() const { return state_ == State::open; }
    void serve() { counters_.serve(); }

    // If is_none(), and something is to be given. nullopt: the counter fails.
    std::optional<Sealed> begin(plan::Ledger& ledger) {
        if (!counter_.set(BatchId(batch_ + 1))) return std::nullopt;
        positions_ = *ledger.seal(ranks::tickets::BatchCounter::most_tickets);
        state_ = State::open;
        lost_some_ = false;
        ++batch_;
        return sealed();
    }
    Sealed sealed() const { return {batch_, positions_, 0, 0}; }

    // For takers that do not draw by themselves. nullopt: nothing is left, or the counter fails.
    std::optional<Interval> draw(std::uint64_t amount) {
        const auto ticket = counter_.draw(BatchId(batch_), amount);
        if (!ticket || *ticket >= positions_.size()) return std::nullopt;
        return Interval{positions_.first + *ticket,
                        positions_.first + std::min(*ticket + amount, positions_.size())};
    }

    // If is_open(). What nobody can have drawn is to be given by message.
    void close(plan::Ledger& ledger, const std::set<Address>& drawers) {
        const auto drawn = counter_.end(BatchId(batch_), positions_.size());
        if (drawn && *drawn < positions_.size()) ledger.unseal({positions_.first + *drawn, positions_.end});
        state_ = State::closing;
        missing_ = drawers;
        for (const Address& drawer : drawers) drawer.send(Unsealed{batch_});
    }
    void answer(const Address& from, const Closed& closed) {
        if (closed.batch == batch_) missing_.erase(from);
    }
    void leave(const Address& drawer, bool lost) {
        missing_.erase(drawer);
        lost_some_ = lost_some_ || lost;
    }
    bool is_told() const { return state_ == State::closing && missing_.empty(); }
    // If is_told(). Returns how many were lost, and are to be given again.
    std::uint64_t end(plan::Ledger& ledger) {
        state_ = State::none;
        if (lost_some_) return ledger.lose_sealed();
        ledger.unseal(positions_);  // by an addition that failed
        return 0;
    }

  private:
    enum class State { none, open, closing };
    CarefulCounters counters_;
    ranks::tickets::BatchCounter counter_{&counters_};
    State state_ = State::none;
    std::uint32_t batch_ = 0;
    Interval positions_;
    std::set<Address> missing_;  // answers
    bool lost_some_ = false;     // of those who drew
};

}  // namespace wq::slices::claims
