// The holdings of the takers of each node, and what these takers wait for.
//
// When a taker is lost, the tickets of its node get a new batch, and the other takers there are asked what
// they have. What nobody has is given again: also what is unclaimed on the node, since from their answer on,
// takers drop tickets of older batches. So a taker that was only paused cannot bring back a grant that it had
// not read.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/interval_set.h"
#include "base/time.h"
#include "net/frames/transport.h"
#include "ranks/tickets/sealed_batch.h"
#include "ranks/tickets/ticket_pool.h"
#include "slices/claims/messages.h"
#include "slices/plan/pass_ledger.h"

namespace wq::slices::claims {

// Counters that are not used any more after a call has failed: slices are then asked for by message, and one
// line says so.
class CarefulCounters final : public ranks::tickets::Counters {
  public:
    using Say = std::function<void(const std::string&)>;
    explicit CarefulCounters(ranks::tickets::Counters* all = nullptr, Say say = {})
        : all_(all), served_(all), say_(std::move(say)) {}
    bool there() const { return all_ != nullptr; }
    bool may_serve() const {
        return served_ != nullptr;
    }  // others, also when it is not there for us any more

    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        return all_ == nullptr ? none() : checked(all_->add(counter, amount));
    }
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override {
        return all_ == nullptr ? none() : checked(all_->exchange(counter, value));
    }
    void serve() override {
        if (served_ != nullptr) served_->serve();
    }

  private:
    static Error none() { return {ExitCode::unreachable, "there is no counter"}; }
    Result<std::uint64_t> checked(Result<std::uint64_t> before) {
        if (before) return before;
        all_ = nullptr;
        if (say_) say_("slices are given by message from now on: " + before.error().message);
        return before;
    }

    ranks::tickets::Counters* all_;
    ranks::tickets::Counters* served_;
    Say say_;
};

// A taker, as the giver reaches it.
struct Address {
    net::frames::Transport* line;
    net::frames::PeerId peer;
    auto operator<=>(const Address&) const = default;
    void send(const Message& message) const { line->send(peer, encode(message)); }
};

enum class TakerEnd : std::uint8_t { left, lost };  // how it left

// The giver's side of what is sealed: a long range of positions that takers draw by themselves, through the
// counter in rank 0's memory (ranks/tickets/sealed_batch.h), and tell afterwards.
//
// When a taker is lost, nobody knows what it drew and has not sent. So the seal is closed: the counter tells
// how far it was drawn, and the living tell what they drew. What nobody tells was lost. The next seal begins
// when all have answered: so none that lives draws from it by mistake.
class CounterSeal {
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
    std::optional<SealOpened> begin(plan::PassLedger& ledger) {
        if (!counter_.set(BatchId(batch_ + 1))) return std::nullopt;
        positions_ = *ledger.seal(ranks::tickets::BatchCounter::most_tickets);
        state_ = State::open;
        lost_some_ = false;
        ++batch_;
        return sealed();
    }
    SealOpened sealed() const { return {batch_, positions_, 0, 0}; }

    // For takers that do not draw by themselves. nullopt: nothing is left, or the counter fails.
    std::optional<Interval> draw(std::uint64_t amount) {
        const auto ticket = counter_.draw(BatchId(batch_), amount);
        if (!ticket || *ticket >= positions_.size()) return std::nullopt;
        return Interval{positions_.first + *ticket,
                        positions_.first + std::min(*ticket + amount, positions_.size())};
    }

    // If is_open(). What nobody can have drawn is to be given by message.
    void close(plan::PassLedger& ledger, const std::set<Address>& drawers) {
        const auto drawn = counter_.end(BatchId(batch_), positions_.size());
        if (drawn && *drawn < positions_.size()) ledger.unseal({positions_.first + *drawn, positions_.end});
        state_ = State::closing;
        missing_ = drawers;
        for (const Address& drawer : drawers) drawer.send(SealClosed{batch_});
    }
    void answer(const Address& from, const SealReply& reply) {
        if (reply.batch == batch_) missing_.erase(from);
    }
    void leave(const Address& drawer, TakerEnd how) {
        missing_.erase(drawer);
        lost_some_ = lost_some_ || how == TakerEnd::lost;
    }
    bool is_reported() const { return state_ == State::closing && missing_.empty(); }
    // If is_reported(). Returns how many were lost, and are to be given again.
    std::uint64_t end(plan::PassLedger& ledger) {
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

// What the living takers of a node have. They are asked when one was lost, and from then on drop tickets of
// older batches.
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
        for (const Address& taker : takers) taker.send(Census{batch});
    }
    void cancel() { missing_.clear(); }

    // All that they have, once the last one has answered.
    std::optional<IntervalSet> answer(const Address& from, const CensusReply& reply) {
        if (reply.batch != batch_ || missing_.erase(from) == 0) return std::nullopt;
        reply.positions.for_each([&](const Interval& range) { present_.insert(range); });
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

class Nodes {
  public:
    // `epoch`: so many positions make an epoch; nodes are granted small parts of one, since what is granted
    // is not taken back.
    Nodes(plan::PassLedger ledger, std::uint64_t epoch) : ledger_(std::move(ledger)), epoch_(epoch) {}

    // Those who draw may do so from now on, through these.
    void use(ranks::tickets::Counters& counters, CarefulCounters::Say say, std::uint32_t batch, Instant now);
    // Answers with `welcome`, and the batch of its node.
    void join(const Address& taker, const Hello& hello, Welcome welcome, Instant now);
    // If it is lost, it may have drawn what it has not sent. What it had is for others.
    void leave(const Address& taker, TakerEnd how, Instant now);
    void take(const Address& from, const Refill&, Instant now);
    void take(const Address& from, const RefillDone& done, Instant now);
    void take(const Address& from, const CounterRange& range, Instant now);
    void take(const Address& from, const CensusReply& reply, Instant now);
    void take(const Address& from, const SealReply& reply, Instant now);
    // Returns those that count.
    IntervalSet commit(const Address& from, const IntervalSet& positions);

    // Looks for what was lost without a lost taker, such as by one that was paused, while others wait.
    void tick(Instant now);
    std::optional<Instant> wakeup() const {
        return waiting_.empty() ? std::nullopt : std::optional(tick_at_);
    }
    bool may_serve() const { return seal_.may_serve(); }
    void serve() { seal_.serve(); }  // others' additions

    const plan::PassLedger& ledger() const { return ledger_; }
    bool is_filling() const;        // a grant is under way
    std::uint64_t waiting() const;  // takers
    void nobody_waits();            // any more
    std::uint64_t given_again() const { return given_again_; }

  private:
    struct Filler {  // has been granted these, and has not sent what became of them
        Address taker;
        Interval positions;
        bool operator==(const Filler&) const = default;
    };
    struct Node {
        Node(plan::PassLedger::Node number, std::uint32_t batch) : id(number), recount(batch) {}
        plan::PassLedger::Node id;
        Recount recount;
        std::set<Address> takers;
        std::set<Address> waiting;  // for an answer to Refill
        std::set<Address> unaware;  // of these: do not know yet that none are left
        std::optional<Filler> filler;
    };
    using Map = std::map<std::string, Node>;

    void begin_recount(Node& node);
    void begin_seal();
    void close_seal();
    bool settle_seal();  // whether it has ended
    void wait(Map::iterator node, const Address& taker, Instant now);
    void wait_no_more(Map::iterator node, const Address& taker);
    void send_refilled(Map::iterator node);
    void give(Map::iterator node, Instant now);
    std::optional<Interval> next_for(const Node& node);
    void give_to_all(Instant now);
    void send_if_none_left();

    plan::PassLedger ledger_;
    std::uint64_t epoch_;
    CounterSeal seal_;
    Map nodes_;
    std::map<Address, Map::iterator> homes_;
    std::set<Address> drawers_;
    std::set<std::string> waiting_;  // nodes
    std::uint64_t next_node_ = 1;
    std::uint32_t next_batch_ = 1;
    Instant tick_at_{};
    std::uint64_t given_again_ = 0;
};

// Each taker's part of what is left of an epoch is an eighth of an even one: a slow node has little more than
// it can do before the others are done.
inline std::uint64_t part_of(std::uint64_t left, std::uint64_t epoch, std::uint64_t takers) {
    return ranks::tickets::guided_size(std::min(left, epoch), takers, 1, ranks::tickets::kMostTickets, 8);
}

// A taker's side of what is sealed: takes its next part from the counter in rank 0's memory, without a
// message to the giver. For one thread.
class Drawer {
  public:
    // Null: it draws nothing.
    Drawer(ranks::tickets::Counters* counters, CarefulCounters::Say say)
        : counters_(counters, std::move(say)) {}
    Drawer(const Drawer&) = delete;
    Drawer& operator=(const Drawer&) = delete;

    bool there() const { return counters_.there(); }
    void begin(const SealOpened& sealed) { sealed_ = sealed, drawn_ = 0; }
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
        if (!ticket || *ticket >= all.size()) {
            sealed_.reset();
            return std::nullopt;
        }
        drawn_ = std::min(*ticket + amount, all.size() - 1);
        const Interval drawn{all.first + *ticket, all.first + std::min(*ticket + amount, all.size())};
        return drawn;
    }

  private:
    CarefulCounters counters_;
    ranks::tickets::BatchCounter counter_{&counters_};
    std::optional<SealOpened> sealed_;
    std::uint64_t drawn_ = 0;  // tickets, by all, when we drew last
};

}  // namespace wq::slices::claims
