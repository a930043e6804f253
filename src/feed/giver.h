// Gives positions to takers, a range at a time for all takers of a node, and finds again what a lost one had.
// It has no clock, thread or socket: arrivals come in, and frames go out by the transport that they came
// from.
//
// When a taker is lost, the other takers of its node are asked what they have, and what is unclaimed there.
// What nobody has is given again. The answers are of different moments, so they count only if all saw one
// fill of the node's tickets; otherwise all are asked again. A grant that is under way counts as present.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"
#include "feed/messages.h"
#include "net/transport.h"
#include "slices/ledger.h"

namespace wq::feed {

struct GiverReport {
    std::uint64_t takers = 0;
    std::uint64_t waiting = 0;
    std::uint64_t lost_takers = 0;
    std::uint64_t given_again = 0;  // positions
    std::uint64_t late = 0;         // commits that did not count
};

class Giver {
  public:
    // `epoch`: so many positions make an epoch; nodes are granted small parts of one, since what is granted
    // is not taken back.
    explicit Giver(slices::Ledger ledger, std::uint64_t epoch) : ledger_(std::move(ledger)), epoch_(epoch) {}

    void on(net::Transport& line, const net::Arrival& arrival, Instant now);
    // Looks for what was lost without a lost taker, such as by one that was paused, while others wait.
    void tick(Instant now);
    std::optional<Instant> wakeup() const;  // of tick()

    const slices::Ledger& ledger() const { return ledger_; }
    bool ended() const { return ledger_.committed().count() == ledger_.positions(); }
    GiverReport report() const;

  private:
    struct Address {
        net::Transport* line;
        net::PeerId peer;
        auto operator<=>(const Address&) const = default;
    };
    struct Filler {  // has been granted these, and has not told what became of them
        Address taker;
        Interval positions;
    };
    struct Recount {
        std::uint64_t id = 0;
        std::set<Address> missing;  // answers
        std::optional<std::uint32_t> fill;
        IntervalSet present;
    };
    struct Node {
        slices::Ledger::Node id = 0;
        std::set<Address> takers;
        std::set<Address> waiting;  // for an answer to Draw
        std::optional<Filler> filler;
        std::optional<Recount> recount;
        Instant counted{};  // the last recount began
    };

    void on(const Address& from, const net::Joined&, Instant) { from.line->admit(from.peer); }
    void on(const Address& from, const net::Frame& frame, Instant now);
    void on(const Address& from, const net::Left&, Instant now) { lose(from, now); }

    void take(const Address& from, const Hello& hello, Instant now);
    void take(const Address& from, const Draw&, Instant now);
    void take(const Address& from, const Filled& filled, Instant now);
    void take(const Address& from, const Committed& committed, Instant now);
    void take(const Address& from, const Leaving& leaving, Instant now);
    void take(const Address& from, const Present& present, Instant now);
    template <class NotForUs>
    void take(const Address& from, const NotForUs&, Instant now) {
        from.line->close(from.peer);
        lose(from, now);
    }

    void lose(const Address& taker, Instant now);
    void remove(const Address& taker, Instant now);  // what it had is for others
    void begin_recount(Node& node, Instant now);
    bool somebody_waits() const;
    void give(Node& node);
    void give_to_all();
    void tell_end();
    void send(const Address& to, const Message& message) const { to.line->send(to.peer, encode(message)); }

    slices::Ledger ledger_;
    std::uint64_t epoch_;
    std::map<std::string, Node> nodes_;
    std::map<Address, std::string> node_of_;
    std::uint64_t next_node_ = 1;
    std::uint64_t next_recount_ = 1;
    bool told_end_ = false;
    GiverReport report_;
};

}  // namespace wq::feed
