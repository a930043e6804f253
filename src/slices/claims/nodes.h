// What the takers of each node have, and what they wait for.
//
// When a taker is lost, the tickets of its node get a new batch, and the other takers there are asked what
// they have. What nobody has is given again: also what is unclaimed on the node, since from their answer on,
// takers drop tickets of older batches. So a taker that was only paused cannot bring back a grant that it had
// not read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"
#include "slices/claims/address.h"
#include "slices/claims/recount.h"
#include "slices/claims/seal.h"
#include "slices/plan/ledger.h"

namespace wq::slices::claims {

class Nodes {
  public:
    // `epoch`: so many positions make an epoch; nodes are granted small parts of one, since what is granted
    // is not taken back.
    Nodes(plan::Ledger ledger, std::uint64_t epoch) : ledger_(std::move(ledger)), epoch_(epoch) {}

    // Those who draw may do so from now on, through these.
    void use(ranks::tickets::Counters& counters, CarefulCounters::Say say, std::uint32_t batch, Instant now);
    // Answers with `welcome`, and the batch of its node.
    void join(const Address& taker, const Hello& hello, Welcome welcome, Instant now);
    // `lost`: it may have drawn what it has not told. What it had is for others.
    void leave(const Address& taker, bool lost, Instant now);
    void take(const Address& from, const Draw&, Instant now);
    void take(const Address& from, const Filled& filled, Instant now);
    void take(const Address& from, const Drew& drew, Instant now);
    void take(const Address& from, const Present& present, Instant now);
    void take(const Address& from, const Closed& closed, Instant now);
    // Returns those that count.
    IntervalSet commit(const Address& from, const IntervalSet& positions);

    // Looks for what was lost without a lost taker, such as by one that was paused, while others wait.
    void tick(Instant now);
    std::optional<Instant> wakeup() const {
        return waiting_.empty() ? std::nullopt : std::optional(tick_at_);
    }
    bool may_serve() const { return seal_.may_serve(); }
    void serve() { seal_.serve(); }  // others' additions

    const plan::Ledger& ledger() const { return ledger_; }
    bool is_filling() const;        // a grant is under way
    std::uint64_t waiting() const;  // takers
    void nobody_waits();            // any more
    std::uint64_t given_again() const { return given_again_; }

  private:
    struct Filler {  // has been granted these, and has not told what became of them
        Address taker;
        Interval positions;
        bool operator==(const Filler&) const = default;
    };
    struct Node {
        Node(plan::Ledger::Node number, std::uint32_t batch) : id(number), recount(batch) {}
        plan::Ledger::Node id;
        Recount recount;
        std::set<Address> takers;
        std::set<Address> waiting;  // for an answer to Draw
        std::set<Address> untold;   // of these: do not know yet that none are left
        std::optional<Filler> filler;
    };
    using Map = std::map<std::string, Node>;

    void begin_recount(Node& node);
    void begin_seal();
    void close_seal();
    bool settle_seal();  // whether it has ended
    void wait(Map::iterator node, const Address& taker, Instant now);
    void wait_no_more(Map::iterator node, const Address& taker);
    void look(Map::iterator node);
    void give(Map::iterator node, Instant now);
    std::optional<Interval> next_for(const Node& node);
    void give_to_all(Instant now);
    void tell_if_none_left();

    plan::Ledger ledger_;
    std::uint64_t epoch_;
    Seal seal_;
    Map nodes_;
    std::map<Address, Map::iterator> homes_;
    std::set<Address> drawers_;
    std::set<std::string> waiting_;  // nodes
    std::uint64_t next_node_ = 1;
    std::uint32_t next_batch_ = 1;
    Instant tick_at_{};
    std::uint64_t given_again_ = 0;
};

}  // namespace wq::slices::claims
