// Gives positions to takers, a range at a time for all takers of a node, and finds again what a lost one had.
// It has no clock, thread or socket: arrivals come in, and frames go out by the transport that they came
// from.
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
#include <vector>

#include "base/time.h"
#include "feed/messages.h"
#include "net/transport.h"
#include "slices/ledger.h"

namespace wq::feed {

struct RankReport {
    std::uint32_t rank = 0;
    std::uint64_t taken = 0;  // positions; of all takers with this number
    bool is_here = true;
};

struct GiverReport {
    std::uint64_t positions = 0;
    std::uint64_t committed = 0;
    std::uint64_t to_give = 0;     // not given, or to be given again
    std::uint64_t first_open = 0;  // the lowest position that is not committed
    std::uint64_t waiting = 0;     // takers
    std::uint64_t lost_takers = 0;
    std::uint64_t given_again = 0;    // positions
    std::uint64_t late = 0;           // commits that did not count
    std::uint64_t failed = 0;         // of those that did: their work was in vain
    std::vector<RankReport> ranks{};  // ascending
};

// Where a taker is.
struct Address {
    net::Transport* line;
    net::PeerId peer;
    auto operator<=>(const Address&) const = default;
};

class Giver {
  public:
    // `epoch`: so many positions make an epoch; nodes are granted small parts of one, since what is granted
    // is not taken back. `ranks`: the numbers of workers begin there.
    explicit Giver(slices::Ledger ledger, std::uint64_t epoch, std::uint32_t ranks = 1)
        : ledger_(std::move(ledger)), epoch_(epoch), next_rank_(ranks) {}

    void on(net::Transport& line, const net::Arrival& arrival, Instant now);
    // Called for each commit that counts, if its taker tells times.
    std::function<void(std::uint32_t rank, const Timed&)> record{};
    // Called for what takers ask, and when one that may have asked has gone.
    std::function<void(const Address&, Ask)> asked = [](const Address&, const Ask&) {};
    std::function<void(const Address&)> gone = [](const Address&) {};
    void answer(const Address& taker, Answer answer) const {
        if (takers_.contains(taker)) send(taker, std::move(answer));
    }
    // Looks for what was lost without a lost taker, such as by one that was paused, while others wait.
    void tick(Instant now);
    // Of tick(). Nodes that wait are all that costs.
    std::optional<Instant> wakeup() const {
        return waiting_.empty() ? std::nullopt : std::optional(tick_at_);
    }

    // Asks all for the commits that they have not told yet.
    void ask_all();
    // All who live have told what they had committed when ask_all() was called last.
    bool all_told() const { return untold_.empty(); }

    const slices::Ledger& ledger() const { return ledger_; }
    const IntervalSet& failed() const { return failed_; }  // of what is committed
    bool ended() const { return ledger_.committed().count() == ledger_.positions(); }
    std::uint64_t takers() const { return takers_.size(); }
    GiverReport report() const;

  private:
    struct Known {
        std::string node;
        std::uint32_t rank = 0;
        std::uint64_t taken = 0;
    };
    struct Filler {  // has been granted these, and has not told what became of them
        Address taker;
        Interval positions;
    };
    struct Recount {
        std::set<Address> missing;  // answers
        IntervalSet present;
    };
    struct Node {
        slices::Ledger::Node id = 0;
        std::uint32_t batch = 0;
        std::set<Address> takers;
        std::set<Address> waiting;  // for an answer to Draw
        std::optional<Filler> filler;
        std::optional<Recount> recount;
        Duration pause{};    // between recounts; longer from one to the next
        Instant count_at{};  // the next one, if somebody waits
    };
    using Nodes = std::map<std::string, Node>;

    void on(const Address&, const net::Joined&, Instant) {}
    void on(const Address& from, const net::Frame& frame, Instant now);
    void on(const Address& from, const net::Left&, Instant now) { lose(from, now); }

    void take(const Address& from, const Hello& hello, Instant now);
    void take(const Address& from, const Draw&, Instant now);
    void take(const Address& from, const Filled& filled, Instant now);
    void take(const Address& from, const Committed& committed, Instant now);
    void take(const Address& from, const Leaving& leaving, Instant now);
    void take(const Address& from, const Present& present, Instant now);
    void take(const Address& from, const Told& told, Instant now);
    void take(const Address& from, const Ask& ask, Instant) { asked(from, ask); }
    template <class NotForUs>
    void take(const Address& from, const NotForUs&, Instant now) {
        from.line->close(from.peer);
        lose(from, now);
    }

    void lose(const Address& taker, Instant now);
    void remove(const Address& taker, Instant now);  // what it had is for others
    void begin_recount(Node& node);
    void postpone_recount(Node& node, Duration pause, Instant now);
    void wait(Nodes::iterator node, const Address& taker, Instant now);
    void wait_no_more(Nodes::iterator node, const Address& taker);
    void give(Nodes::iterator node, Instant now);
    void give_to_all(Instant now);
    void tell_end();
    Nodes::iterator node_of(const Address& taker) { return nodes_.find(takers_.at(taker).node); }
    void send(const Address& to, const Message& message) const { to.line->send(to.peer, encode(message)); }

    slices::Ledger ledger_;
    std::uint64_t epoch_;
    std::uint32_t next_rank_;
    Nodes nodes_;
    std::set<std::string> waiting_;  // nodes
    std::map<Address, Known> takers_;
    std::map<std::uint32_t, RankReport> ranks_;
    std::uint64_t next_node_ = 1;
    std::uint32_t next_batch_ = 1;
    Instant tick_at_{};
    std::uint32_t round_ = 0;   // of ask_all()
    std::set<Address> untold_;  // whose answers to that are missing
    bool told_end_ = false;
    std::uint64_t lost_takers_ = 0;
    std::uint64_t given_again_ = 0;
    std::uint64_t late_ = 0;
    IntervalSet failed_;
};

}  // namespace wq::feed
