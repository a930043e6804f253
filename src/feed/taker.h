// A rank's part of the work: claims positions from the tickets of its node, and tells the giver what is done.
// Its consumer takes and commits; another thread, that of the line, moves messages. It has no clock, and no
// socket.
//
// If it is killed at any point, no lock that others need is held: those of the node go on, and the giver
// finds what it had.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "feed/messages.h"
#include "net/transport.h"
#include "tickets/ticket_pool.h"

namespace wq::feed {

struct TakerOptions {
    std::string node;        // equal for the takers that share the pool
    std::uint32_t rank = 0;  // for statistics; no_rank: the giver gives it a number
    bool commits = true;     // until the giver says it. No: what is taken counts as done
                             // (Delivery::at_most_once)
    bool by_hand = false;    // commit() is called for each; otherwise taking the next commits those before
    std::uint32_t most_claimed = 256;       // at once, of the node's
    std::function<std::int64_t()> clock{};  // in us since 1970; empty: no times are told
};

class Taker {
  public:
    // `wake` lets the line's thread call flush(); it must not wait.
    Taker(tickets::TicketPool& pool, TakerOptions options, std::function<void()> wake);

    // ---- the consumer's, of any threads ----

    bool join();                 // waits until the giver knows us; false: failure()
    std::uint32_t rank() const;  // since then
    // Waits. nullopt: all are committed, or failure().
    std::optional<std::uint64_t> take();
    std::optional<std::uint64_t> try_take();  // nullopt also: not yet
    // The same if several consumers take: commits `done`, which was taken here, and no other. nullopt also:
    // `stop` is requested, before or while it waits.
    std::optional<std::uint64_t> take_after(std::optional<std::uint64_t> done, const std::stop_token& stop);
    // They were taken here, and are not committed: they are for the next that takes here, or for others once
    // these wait. So is what is claimed and not taken.
    void give_back(const std::vector<std::uint64_t>& positions);
    bool ended() const;
    bool lost_some() const;  // of other takers, before the end
    // Whether it was taken here, and not committed before.
    bool commit(std::uint64_t position, bool failed = false);
    std::optional<std::string> failure() const;
    std::stop_token lost() const { return lost_.get_token(); }  // requested with a failure
    std::uint64_t taken() const;                                // so many

    // ---- the line's ----

    void on(net::Transport& line, const net::Arrival& arrival);
    // Sends a request that its consumer waits for, with all commits; without one, commits only if they are
    // due. Returns whether something is left to be told.
    bool flush(net::Transport& line, bool commits_due);
    void leave(net::Transport& line);   // with what it has committed; what it has else is for others
    void fail(const std::string& why);  // there is no giver any more: nobody waits

  private:
    std::optional<std::uint64_t> next();
    std::optional<Interval> claim();
    std::optional<std::uint64_t> next_or_ask();
    bool drop(std::uint64_t position);  // of what is taken; false: it is not
    bool commit_one(std::uint64_t position, bool failed = false);
    void commit_all();
    void note_times(const Interval& committed, bool failed = false);
    void begin_batch(std::uint32_t batch);
    void leave_untaken();
    IntervalSet present() const;
    bool has_news() const { return !untold_.empty() || taken_ != told_taken_; }
    void tell_commits(net::Transport& line);
    void take(const Welcome& welcome);
    void take(net::Transport& line, const Granted& granted);
    void take(net::Transport& line, const Count& count);
    void take(net::Transport& line, const Tell& tell);
    void take(const Ended& ended);
    void look();

    TakerOptions options_;
    std::function<void()> wake_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    tickets::TicketPool& pool_;
    std::optional<net::PeerId> giver_;     // since it joined
    Interval claimed_;                     // not taken yet
    std::optional<std::uint64_t> newest_;  // taken last, not committed; most are, before the next is taken
    IntervalSet has_;                      // taken before it, not committed
    IntervalSet kept_;                     // nobody's, neither taken nor among the tickets of the node
    // Claimed before the giver has told us of its batch: a mate was told before. A taker that is lost, and
    // does not know it yet, stays here.
    std::optional<tickets::TicketRange> ahead_;
    IntervalSet untold_;                              // committed
    std::map<std::uint64_t, std::int64_t> taken_at_;  // of what is not committed
    std::vector<Timed> untold_times_;
    IntervalSet untold_failed_;
    std::uint64_t taken_ = 0;
    std::uint64_t told_taken_ = 0;
    BatchId batch_{0};      // of our tickets, older ones are void; 0: the giver does not know us yet
    bool wants_ = false;    // to ask
    bool asked_ = false;    // the answer is still to come
    bool hurries_ = false;  // to tell commits: the answer may wait for them
    bool ended_ = false;
    bool lost_some_ = false;
    std::optional<std::string> failure_;
    std::stop_source lost_;
};

}  // namespace wq::feed
