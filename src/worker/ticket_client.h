// The rank's side of tickets. It claims tickets from its node's word, asks for more when the word is empty,
// and accounts for a batch when no ticket is left.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/model/resources.h"
#include "net/messages/messages.h"
#include "net/session/outbox.h"
#include "node/launcher/function_runner.h"
#include "ranks/tickets/sealed_batch.h"
#include "ranks/tickets/ticket_pool.h"

namespace wq::worker {

class TicketClient {
  public:
    // `whole`: the rank's resources. A task without a request gets its share of them. `counters`: rank 0's,
    // for batches that use them; null: ask rank 0 by message.
    TicketClient(ranks::tickets::TicketPool& pool, const engine::model::Resources& whole,
                 ranks::tickets::Counters* counters = nullptr)
        : pool_(pool), whole_(whole), counter_(counters) {}

    void on_message(const net::messages::SealedBatch& message);
    void on_message(const net::messages::Tickets& message);
    void on_message(const net::messages::RevokedBatch& message);

    // Tasks to run now, at most `room`, as leases of attempt 1.
    std::vector<net::messages::Lease> take(std::uint64_t room, Instant now, net::session::Outbox& outbox);

    // Whether the batch is a range of calls in `direct` mode. If so, call take_ranges(), not take().
    bool direct_calls() const {
        return batch_ && batch_->has_calls() && batch_->call().mode == engine::model::CallMode::direct;
    }
    // Indexes to call now, at most `room`.
    std::vector<node::launcher::RangeOrder> take_ranges(std::uint64_t room, Instant now,
                                                        net::session::Outbox& outbox);
    std::uint64_t left_in_node() const { return pool_.remaining(); }
    std::uint64_t ranks_of_node() const { return pool_.ranks(); }
    std::optional<BatchId> batch() const {
        return batch_ ? std::optional<BatchId>(batch_->id()) : std::nullopt;
    }

    // When the batch has no tickets left, this rank reports once which of them it runs. It does not name
    // tickets that it claimed and has not passed on, so that others get them.
    bool owes_account() const { return batch_ && dry_ && !told_; }
    void give_account(IntervalSet running, net::session::Outbox& outbox);

    // Whether a batch is open to this rank. If so, check its node's word each turn.
    bool active() const { return batch_ && !dry_; }
    // How many tasks of the batch this rank can run at once.
    std::int64_t lanes() const;

  private:
    // A ticket that we claimed. It has no text if the text has not arrived yet, or the batch has a template.
    struct Mine {
        BatchId batch;
        std::uint64_t ticket;
        std::optional<std::string> text;
    };

    void claim(std::uint64_t most);
    ranks::tickets::TicketRange claim_range(std::uint64_t most);
    void add_range(std::uint64_t ticket, std::uint64_t count,
                   std::vector<node::launcher::RangeOrder>& ranges) const;
    std::optional<net::messages::Lease> pass_on(Mine mine, net::session::Outbox& outbox);
    bool refill_from_spare();
    void ask(Instant now, net::session::Outbox& outbox);
    void draw();
    std::optional<net::messages::Lease> lease_of(const Mine& mine) const;

    ranks::tickets::TicketPool& pool_;
    engine::model::Resources whole_;
    ranks::tickets::BatchCounter counter_;
    std::optional<ranks::tickets::BatchView> batch_;
    bool by_counter_ = false;
    std::uint64_t drawn_ = 0;  // the counter at our last read
    std::uint64_t nodes_ = 1;
    engine::model::Resources give_;
    Duration timeout_{0};
    engine::model::Watch watch_;
    std::deque<Mine> mine_;          // claimed, not yet passed on
    std::deque<Mine> early_;         // claimed from a batch that another rank of the node heard of first
    std::deque<Mine> without_text_;  // claimed; we asked for their texts
    std::deque<net::messages::Tickets>
        spare_;  // ranges that lost the install: put into the word when it is dry
    bool asked_ = false;
    bool dry_ = false;   // no tickets left; we claim no more of this batch
    bool told_ = false;  // we have sent our account
};

}  // namespace wq::worker
