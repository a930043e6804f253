// Gives positions to takers, a range at a time for all takers of a node, and finds again what a lost one had
// (nodes.h). It has no clock, thread or socket: arrivals come in, and frames go out by the transport that
// they came from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/frames/transport.h"
#include "slices/claims/messages.h"
#include "slices/claims/nodes.h"
#include "slices/plan/pass_ledger.h"

namespace wq::slices::claims {

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
    std::uint64_t lost_ranks = 0;
    std::uint64_t given_again = 0;    // positions
    std::uint64_t late = 0;           // commits that did not count
    std::uint64_t failed = 0;         // of those that did: their work was in vain
    std::vector<RankReport> ranks{};  // ascending
};

class Giver {
  public:
    // As Nodes. `ranks`: the numbers of workers begin there.
    Giver(plan::PassLedger ledger, std::uint64_t epoch, std::uint32_t ranks = 1)
        : nodes_(std::move(ledger), epoch), next_rank_(ranks) {}

    void on(net::frames::Transport& line, const net::frames::Arrival& arrival, Instant now);
    // Called for each commit that counts, if its taker tells times.
    std::function<void(std::uint32_t rank, const Timed&)> record{};
    // Called for what takers ask, and when one that may have asked has gone.
    std::function<void(const Address&, Question)> asked = [](const Address&, const Question&) {};
    std::function<void(const Address&)> gone = [](const Address&) {};
    void answer(const Address& taker, GiverAnswer answer);
    // Called when one was lost, before the end.
    std::function<void(std::uint32_t rank, bool is_worker)> on_loss = [](std::uint32_t, bool) {};
    void tick(Instant now);
    std::optional<Instant> wakeup() const { return nodes_.wakeup(); }  // of tick()
    Nodes& nodes() { return nodes_; }

    // Asks all for the commits that they have not reported yet.
    void ask_all();
    // All who live have reported what they had committed when ask_all() was called last.
    bool all_reported() const { return unreported_.empty(); }

    const plan::PassLedger& ledger() const { return nodes_.ledger(); }
    const IntervalSet& failed() const { return failed_; }  // of what is committed
    bool ended() const { return ledger().committed().count() == ledger().positions(); }
    std::uint64_t takers() const { return takers_.size(); }
    GiverReport report() const;

  private:
    struct Known {
        std::uint32_t rank = 0;
        bool is_worker = false;
        std::uint64_t taken = 0;
        std::uint32_t unanswered = 0;
    };

    void on(const Address& from, const net::frames::Joined&, Instant) { lines_.insert(from); }
    void on(const Address& from, const net::frames::Frame& frame, Instant now);
    void on(const Address& from, const net::frames::Left&, Instant now) { lose(from, now); }

    void take(const Address& from, const Hello& hello, Instant now);
    void take(const Address& from, const Committed& committed, Instant now);
    void take(const Address& from, const Leaving& leaving, Instant now);
    void take(const Address& from, const CommitsReported& reply, Instant now);
    void take(const Address& from, const Question& question, Instant now);
    template <class Other>
    void take(const Address& from, const Other& other, Instant now) {
        if constexpr (requires { nodes_.take(from, other, now); })
            nodes_.take(from, other, now);
        else
            refuse(from, now);
    }

    void refuse(const Address& from, Instant now);  // it sent what takers do not send
    void lose(const Address& taker, Instant now);
    void remove(const Address& taker, TakerEnd how, Instant now);
    void send_end();

    Nodes nodes_;
    std::uint32_t next_rank_;
    std::set<Address> lines_;  // that are open
    std::map<Address, Known> takers_;
    std::map<std::uint32_t, RankReport> ranks_;
    std::uint32_t round_ = 0;       // of ask_all()
    std::set<Address> unreported_;  // whose answers to that are missing
    bool sent_end_ = false;
    std::uint64_t lost_ranks_ = 0;  // workers may come and go
    std::uint64_t late_ = 0;
    IntervalSet failed_;
};

}  // namespace wq::slices::claims
