// How a taker claims from the tickets of its node, and installs new ones for all of the node.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "base/time.h"
#include "net/frames/transport.h"
#include "ranks/tickets/ticket_pool.h"
#include "slices/claims/messages.h"
#include "slices/claims/nodes.h"

namespace wq::slices::claims {

class Claims {
  public:
    explicit Claims(ranks::tickets::TicketPool& pool) : pool_(pool) {}

    // Tickets of older batches are void from now on. Returns those of this batch that it had claimed before.
    std::optional<Interval> begin(std::uint32_t batch) {
        batch_ = BatchId(batch);
        if (!ahead_ || ahead_->batch > batch_) return std::nullopt;
        const ranks::tickets::TicketRange ahead = *std::exchange(ahead_, std::nullopt);
        return ahead.batch == batch_ ? std::optional(positions_of(ahead)) : std::nullopt;
    }
    bool has_begun() const { return batch_.value() != 0; }  // the giver knows us
    // Claimed from a batch that the giver has not told us of: a mate was told before. A taker that is lost,
    // and does not know it yet, stays here.
    bool is_ahead() const { return ahead_.has_value(); }

    // Up to `most`, or fewer if little is left for each of the node.
    std::optional<Interval> claim(std::uint32_t most) {
        while (!ahead_) {
            const std::uint64_t part = ranks::tickets::guided_size(pool_.remaining(), pool_.ranks(), 1, most);
            const ranks::tickets::Claim claim = pool_.take(static_cast<std::uint32_t>(part));
            if (claim.state == ranks::tickets::Claim::State::dry) break;
            // Overwritten: nobody has these any more; the giver finds that.
            if (claim.state == ranks::tickets::Claim::State::overwritten) continue;
            if (claim.range.batch == batch_) return positions_of(claim.range);
            if (claim.range.batch > batch_) ahead_ = claim.range;
        }
        return std::nullopt;
    }

    std::uint32_t mates() const { return pool_.ranks(); }  // and this one
    bool are_left() const {
        const auto left = pool_.unclaimed();
        return left && left->batch >= batch_;
    }
    // False: a mate was faster.
    bool install(const Interval& positions) {
        if (const auto stale = pool_.unclaimed(); stale && stale->batch < batch_) pool_.revoke(stale->batch);
        if (positions.size() > ranks::tickets::kMostTickets) return false;
        const ranks::tickets::TicketRange range{batch_, positions.first,
                                                static_cast<std::uint32_t>(positions.size())};
        return pool_.install(range) == ranks::tickets::Install::installed;
    }
    // Whether this one draws for all. A mate that does is waited for at most so long: it may have been
    // killed. (Longer than rank 0 pauses between two calls of MPI, twice.)
    bool begin_draw(Instant now) { return pool_.refill_turn(now, std::chrono::milliseconds(50)); }
    void end_draw() { pool_.end_refill_turn(); }

  private:
    static Interval positions_of(const ranks::tickets::TicketRange& range) {
        return {range.first, range.first + range.count};
    }

    ranks::tickets::TicketPool& pool_;
    BatchId batch_{0};
    std::optional<ranks::tickets::TicketRange> ahead_;
};

enum class SliceEnd : std::uint8_t { done, failed };

// What a taker has: claimed, taken, committed and not sent. It commits what it has taken; what it has only
// claimed it may leave to others.
class Holdings {
  public:
    Holdings() = default;
    // `commits`: no: what is taken counts as done. `clock`: in us since 1970; empty: no times are sent.
    Holdings(bool commits, std::function<std::int64_t()> clock)
        : commits_(commits), clock_(std::move(clock)) {}

    bool commits() const { return commits_; }
    void claim(Interval positions) { claimed_ = positions; }    // if nothing is claimed
    void keep(Interval positions) { kept_.insert(positions); }  // not among the tickets of the node
    bool claim_kept(std::uint64_t most) {                       // false: nothing is kept
        const auto kept = kept_.take_front(most);
        if (kept) claimed_ = *kept;
        return kept.has_value();
    }
    bool has_claimed() const { return claimed_.size() > 0; }
    std::uint64_t take();  // of what is claimed
    // Whether it was taken here, and not committed before.
    bool commit(std::uint64_t position, SliceEnd end);
    // They were taken, and are for the next that takes; so is what is claimed.
    void give_back(const std::vector<std::uint64_t>& positions);
    // Others may have what is not taken: perhaps the consumer takes no more.
    void leave_untaken();
    // All that it has, also commits that it has not sent.
    IntervalSet present() const;

    bool has_news() const { return !unsent_.empty() || taken_ != sent_taken_; }
    Committed take_news();
    std::uint64_t taken() const { return taken_; }  // so many

  private:
    bool drop(std::uint64_t position);  // of what is taken; false: it is not

    bool commits_ = true;
    std::function<std::int64_t()> clock_;
    Interval claimed_;                     // not taken yet
    std::optional<std::uint64_t> newest_;  // taken last, not committed; most are, before the next is taken
    IntervalSet has_;                      // taken before it, not committed
    IntervalSet kept_;                     // neither taken nor among the tickets of the node
    IntervalSet unsent_;                   // committed
    IntervalSet unsent_failed_;
    std::vector<Timed> unsent_times_;
    std::map<std::uint64_t, std::int64_t> taken_at_;  // of what is not committed
    std::uint64_t taken_ = 0;
    std::uint64_t sent_taken_ = 0;
};

// A rank's part of the work: claims positions from the tickets of its node, and tells the giver what is done.
// Its consumer takes and commits; another thread, that of the line, moves messages. It has no clock, and no
// socket.
//
// If it is killed at any point, no lock that others need is held: those of the node go on, and the giver
// finds what it had.
//
// When no tickets are left on its node, it draws more from the counter in rank 0's memory, if there is one,
// for its node; otherwise it asks the giver.
struct TakerOptions {
    std::string node;                       // equal for the takers that share the pool
    std::uint32_t rank = 0;                 // for statistics; no_rank: the giver gives it a number
    std::uint32_t most_claimed = 256;       // at once, of the node's
    std::function<std::int64_t()> clock{};  // in us since 1970; empty: no times are sent
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
    bool commit(std::uint64_t position, SliceEnd end = SliceEnd::done);
    std::optional<std::string> failure() const;
    std::stop_token lost() const { return lost_.get_token(); }  // requested with a failure
    std::uint64_t taken() const;                                // so many

    // ---- the line's ----

    void on(net::frames::Transport& line, const net::frames::Arrival& arrival);
    // Gets what its consumer waits for, or asks for it, with all commits. Otherwise sends commits only if
    // they are due. Returns whether something is left to be sent.
    bool flush(net::frames::Transport& line, bool commits_due, Instant now);
    void leave(net::frames::Transport& line);  // with what it has committed; what it has else is for others
    void fail(const std::string& why);         // there is no giver any more: nobody waits

  private:
    std::optional<std::uint64_t> next();
    std::optional<std::uint64_t> next_or_ask();
    bool commit_one(std::uint64_t position, SliceEnd end = SliceEnd::done);
    void begin(std::uint32_t batch);
    bool draw(net::frames::Transport& line, Instant now);
    void send_commits(net::frames::Transport& line);
    void take(net::frames::Transport& line, const Welcome& welcome);
    void take(net::frames::Transport& line, const Refused& refused);
    void take(net::frames::Transport& line, const Granted& granted);
    void take(net::frames::Transport& line, const Census& census);
    void take(net::frames::Transport& line, const ReportCommits& order);
    void take(net::frames::Transport& line, const Ended& ended);
    void take(net::frames::Transport& line, const NodeRefilled&);
    void take(net::frames::Transport& line, const NoneLeft&);
    void take(net::frames::Transport& line, const SealOpened& sealed);
    void take(net::frames::Transport& line, const SealClosed& closed);
    template <class NotForUs>
    void take(net::frames::Transport&, const NotForUs&) {
        fail("the queue sent a message of the wrong kind");
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
    bool hurries_ = false;    // to send commits: the answer may wait for them
    bool ended_ = false;
    bool lost_some_ = false;
    std::optional<std::string> failure_;
    std::stop_source lost_;
};

}  // namespace wq::slices::claims
