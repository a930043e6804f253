// A rank's part of the work: claims positions from the tickets of its node, and tells the giver what is done.
// Its consumer takes and commits; another thread, that of the line, moves messages. It has no clock, and no
// socket.
//
// If it is killed at any point, no lock that others need is held: those of the node go on, and the giver
// finds what it had.
//
// When no tickets are left on its node, it draws more from the counter in rank 0's memory, if there is one,
// for its node; otherwise it asks the giver.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "base/time.h"
#include "net/frames/transport.h"
#include "ranks/tickets/ticket_pool.h"
#include "slices/claims/claims.h"
#include "slices/claims/drawer.h"
#include "slices/claims/holdings.h"
#include "slices/claims/messages.h"

namespace wq::slices::claims {

struct TakerOptions {
    std::string node;                       // equal for the takers that share the pool
    std::uint32_t rank = 0;                 // for statistics; no_rank: the giver gives it a number
    std::uint32_t most_claimed = 256;       // at once, of the node's
    std::function<std::int64_t()> clock{};  // in us since 1970; empty: no times are told
    ranks::tickets::Counters* counters =
        nullptr;                  // called by the line's thread; null: it asks for all by message
    CarefulCounters::Say say{};   // when these fail
    bool wait_for_others = true;  // no: its end is when all are given
};

class Taker {
  public:
    // `wake` lets the line's thread call flush(); it must not wait.
    Taker(ranks::tickets::TicketPool& pool, TakerOptions options, std::function<void()> wake);

    // ---- the consumer's, of any threads ----

    // Waits until the giver knows us. false: failure(), or `until` is over.
    bool join(std::optional<Instant> until = {});
    std::uint32_t rank() const;  // since then
    // Commits `done`, which was taken here, and no other. Waits. nullopt: all are committed (or given:
    // wait_for_others), or failure(), or `stop` is requested, before or while it waits, or it is `until`.
    std::optional<std::uint64_t> take_after(std::optional<std::uint64_t> done, const std::stop_token& stop,
                                            std::optional<Instant> until = {});
    // Takes nothing. Waits until all are committed, or failure(): true; or it is `until`: false.
    bool wait_for_end(std::optional<Instant> until = {});
    // The same as take_after() without waiting. nullopt also: not yet.
    std::optional<std::uint64_t> take_now(std::optional<std::uint64_t> done);
    // They were taken here, and are not committed: they are for the next that takes here, or for others once
    // these wait. So is what is claimed and not taken.
    void give_back(const std::vector<std::uint64_t>& positions);
    bool lost_some() const;  // of other takers
    // Whether it was taken here, and not committed before.
    bool commit(std::uint64_t position, bool failed = false);
    std::optional<std::string> failure() const;
    std::stop_token lost() const { return lost_.get_token(); }  // requested with a failure
    std::uint64_t taken() const;                                // so many

    // ---- the line's ----

    void on(net::frames::Transport& line, const net::frames::Arrival& arrival);
    // Gets what its consumer waits for, or asks for it, with all commits. Otherwise sends commits only if
    // they are due. Returns whether something is left to be told.
    bool flush(net::frames::Transport& line, bool commits_due, Instant now);
    void leave(net::frames::Transport& line);  // with what it has committed; what it has else is for others
    void fail(const std::string& why);         // there is no giver any more: nobody waits

  private:
    std::optional<std::uint64_t> next();
    std::optional<std::uint64_t> next_or_ask();
    bool commit_one(std::uint64_t position, bool failed = false);
    void begin(std::uint32_t batch);
    bool draw(net::frames::Transport& line, Instant now);
    void tell_commits(net::frames::Transport& line);
    void take(net::frames::Transport& line, const Welcome& welcome);
    void take(net::frames::Transport& line, const Refused& refused);
    void take(net::frames::Transport& line, const Granted& granted);
    void take(net::frames::Transport& line, const Count& count);
    void take(net::frames::Transport& line, const Tell& tell);
    void take(net::frames::Transport& line, const Ended& ended);
    void take(net::frames::Transport& line, const Look& look);
    void take(net::frames::Transport& line, const NoneLeft&);
    void take(net::frames::Transport& line, const Sealed& sealed);
    void take(net::frames::Transport& line, const Unsealed& unsealed);
    template <class NotForUs>
    void take(net::frames::Transport&, const NotForUs&) {
        fail("it sent what only others send");
    }

    TakerOptions options_;
    std::function<void()> wake_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Drawer drawer_;                             // the line's
    std::optional<net::frames::PeerId> giver_;  // since it joined
    Claims claims_;
    Holdings held_;
    bool wants_ = false;      // to ask
    bool asked_ = false;      // the answer is still to come
    bool none_left_ = false;  // and may never come
    bool hurries_ = false;    // to tell commits: the answer may wait for them
    bool ended_ = false;
    bool lost_some_ = false;
    std::optional<std::string> failure_;
    std::stop_source lost_;
};

}  // namespace wq::slices::claims
