// The counter that nodes draw ranges of a batch from. It holds the batch in its upper bits and the next
// ticket in the lower: a rank that slept through the end of its batch may draw when the counter is another
// batch's by then, and must not take what it gets for tickets of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "transport/counters.h"

namespace wq::app {

class BatchCounter {
  public:
    // A batch has one of so many, so that who is late draws from one that nobody uses, mostly: tickets of
    // another batch that it draws come back only when that one is reconciled.
    static constexpr std::size_t counters = 4;
    // Of a batch. Draws beyond its end go on counting, at most 2^20 each: 2^22 of them fit below the batch's
    // bits, and a node that has seen the end draws no more.
    static constexpr std::uint64_t most_tickets = std::uint64_t{1} << 42;

    // Null: there is none.
    explicit BatchCounter(transport::Counters* all) : all_(all) {}
    bool there() const { return all_ != nullptr; }

    // From its first ticket on, or from `ticket`; false: the counter fails.
    bool set(BatchId batch, std::uint64_t ticket = 0) {
        return all_->exchange(place_of(batch), value(batch, ticket)).ok();
    }

    // The first of `amount` tickets that are the caller's now, as far as the batch has so many. Nothing: the
    // counter fails, or is another batch's.
    std::optional<std::uint64_t> draw(BatchId batch, std::uint64_t amount) {
        const auto before = all_->add(place_of(batch), amount);
        if (!before || *before >> ticket_bits != value(batch, 0) >> ticket_bits) return std::nullopt;
        return *before - value(batch, 0);
    }

  private:
    static constexpr int ticket_bits = 43;
    static constexpr std::size_t place_of(BatchId batch) { return batch.value() % counters; }
    // Batches 2^21 apart look alike.
    static constexpr std::uint64_t value(BatchId batch, std::uint64_t ticket) {
        return (std::uint64_t{batch.value()} << ticket_bits) + ticket;
    }

    transport::Counters* all_;
};

}  // namespace wq::app
