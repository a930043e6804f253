// A sealed batch as both sides see it: tickets are positions in it, tasks are ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "engine/tasklist/sources.h"
#include "net/messages/messages.h"

namespace wq::ranks::tickets {

class BatchView {
  public:
    explicit BatchView(const net::messages::SealedBatch& sealed);

    BatchId id() const { return id_; }
    std::uint64_t count() const { return count_; }
    TaskId task(std::uint64_t ticket) const;  // ticket < count()
    bool has_template() const { return command_ || call_; }
    // For a range of calls: a ticket's call; the calls of consecutive tasks.
    bool has_calls() const { return call_.has_value(); }
    const net::messages::Call& call() const { return *call_; }
    std::int64_t call_index(TaskId task) const;
    Interval tasks(std::uint64_t ticket, std::uint64_t most) const;
    // With a template: a ticket's command and index.
    std::string command(std::uint64_t ticket) const;
    std::string index(std::uint64_t ticket) const;

  private:
    struct Part {
        std::uint64_t first_ticket;
        Interval tasks;
    };
    const Part& part_of(std::uint64_t ticket) const;

    BatchId id_;
    std::vector<Part> parts_;
    std::uint64_t count_ = 0;
    std::optional<engine::tasklist::CommandTemplate> command_;
    engine::tasklist::IndexSet indexes_;
    TaskId first_item_;
    std::optional<net::messages::Call> call_;
    std::int64_t first_index_ = 0;
};

// The argument list of a call in a range: a msgpack array of the index.
std::string index_arguments(std::int64_t index);

// The text of one ticket, as it travels and as it is stored in the node's segment.
struct TicketText {
    std::string command;
    EnvironmentChanges variables;
    std::uint64_t environment_position = 0;
    std::optional<net::messages::Call> call;  // instead of the command
};
std::string encode(const TicketText& text);
std::optional<TicketText> decode_ticket_text(std::string_view bytes);

// The counter from which nodes take ranges of a batch. It holds the batch in its upper bits and the next
// ticket in the lower ones: a rank that was paused may take from a counter that has moved on to another
// batch, and must notice that.

// Counters that all ranks can increment: nodes take ranges of a batch without a message to rank 0.
// CounterWindow implements them with MPI.
class Counters {
  public:
    virtual ~Counters() = default;

    // Adds and returns the old value. May wait for the network. On an error (in the library's words) it is
    // unknown whether the addition took place.
    virtual Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) = 0;

    // Sets and returns the old value.
    virtual Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) = 0;

    // Where the counters are: lets the others' calls end, where the network does not do that alone. Does not
    // wait.
    virtual void serve() {}
};

class BatchCounter {
  public:
    // Batches rotate over this many counters, so that a late rank usually takes from an unused one: tickets
    // of another batch that it takes return only when that batch is reconciled.
    static constexpr std::size_t counters = 4;
    // Per batch. Claims beyond its end keep counting, up to 2^20 each: 2^22 of them fit below the batch's
    // bits, and a node that has seen the end claims no more.
    static constexpr std::uint64_t most_tickets = std::uint64_t{1} << 41;

    // Null: no counter.
    explicit BatchCounter(tickets::Counters* all) : all_(all) {}
    bool there() const { return all_ != nullptr; }

    // Starts at its first ticket, or at `ticket`; false: the counter fails.
    bool set(BatchId batch, std::uint64_t ticket = 0) {
        return all_->exchange(place_of(batch), value(batch, ticket)).ok();
    }

    // Nobody draws any more of its `count` tickets. Returns how many were drawn; nullopt: the counter fails,
    // or belongs to another batch.
    std::optional<std::uint64_t> end(BatchId batch, std::uint64_t count) {
        // An addition, too: MPI promises that operations on one place exclude each other only if they are
        // alike.
        const auto drawn = ticket_in(all_->add(place_of(batch), most_tickets), batch);
        return drawn ? std::optional(std::min(*drawn, count)) : std::nullopt;
    }

    // Claims `amount` tickets, as far as the batch has so many, and returns the first. nullopt: the counter
    // fails, or belongs to another batch.
    std::optional<std::uint64_t> draw(BatchId batch, std::uint64_t amount) {
        return ticket_in(all_->add(place_of(batch), amount), batch);
    }

  private:
    static constexpr int ticket_bits = 43;
    static std::optional<std::uint64_t> ticket_in(const Result<std::uint64_t>& before, BatchId batch) {
        if (!before || *before >> ticket_bits != value(batch, 0) >> ticket_bits) return std::nullopt;
        return *before - value(batch, 0);
    }
    static constexpr std::size_t place_of(BatchId batch) { return batch.value() % counters; }
    // Batches 2^21 apart have the same value.
    static constexpr std::uint64_t value(BatchId batch, std::uint64_t ticket) {
        return (std::uint64_t{batch.value()} << ticket_bits) + ticket;
    }

    tickets::Counters* all_;
};

}  // namespace wq::ranks::tickets
