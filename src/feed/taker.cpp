#include "feed/taker.h"

#include <utility>
#include <variant>

namespace wq::feed {

namespace {

// A mate that draws for the node is waited for at most so long. It may have been killed.
constexpr Duration longest_draw = std::chrono::milliseconds(10);

Interval positions_of(const tickets::TicketRange& range) {
    return {range.first, range.first + range.count};
}

}  // namespace

Taker::Taker(tickets::TicketPool& pool, TakerOptions options, std::function<void()> wake)
    : options_(std::move(options)),
      wake_(std::move(wake)),
      pool_(pool),
      drawer_(options_.counters, options_.say),
      held_(options_.commits, options_.clock) {}

// ---- the consumer's ----

bool Taker::join() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batch_.value() != 0 || failure_; });
    return !failure_;
}

std::optional<std::uint64_t> Taker::take_after(std::optional<std::uint64_t> done,
                                               const std::stop_token& stop) {
    const std::stop_callback waken(stop, [this] {
        { const std::lock_guard lock(mutex_); }  // who has seen no stop waits by now
        changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    if (done) commit_one(*done);
    for (;;) {
        if (stop.stop_requested()) return std::nullopt;
        if (const auto position = next_or_ask()) return position;
        if (is_over()) return std::nullopt;
        changed_.wait(lock);
    }
}

std::optional<std::uint64_t> Taker::take_now(std::optional<std::uint64_t> done) {
    std::lock_guard lock(mutex_);
    if (done) commit_one(*done);
    return next_or_ask();
}

void Taker::give_back(const std::vector<std::uint64_t>& positions) {
    {
        const std::lock_guard lock(mutex_);
        held_.give_back(positions);
    }
    changed_.notify_all();
}

std::optional<std::uint64_t> Taker::next_or_ask() {
    if (batch_.value() == 0 || failure_) return std::nullopt;
    // What is given at most once is ours to the last, although all is granted.
    if (ended_ && options_.commits) return std::nullopt;
    if (const auto position = next()) return position;
    if (!asked_ && !ended_ && !ahead_) {
        asked_ = wants_ = true;
        wake_();
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Taker::next() {
    if (!held_.has_claimed() && !claim()) return std::nullopt;
    if (!held_.has_news()) wake_();
    return held_.take();
}

bool Taker::claim() {
    if (held_.claim_kept(options_.most_claimed)) return true;
    while (!ahead_) {
        const std::uint64_t part =
            tickets::guided_size(pool_.remaining(), pool_.ranks(), 1, options_.most_claimed);
        const tickets::Claim claim = pool_.take(static_cast<std::uint32_t>(part));
        if (claim.state == tickets::Claim::State::dry) break;
        // Overwritten: nobody has these any more; the giver finds that.
        if (claim.state == tickets::Claim::State::overwritten) continue;
        if (claim.range.batch == batch_) return held_.claim(positions_of(claim.range)), true;
        if (claim.range.batch > batch_) ahead_ = claim.range;
    }
    return false;
}

bool Taker::commit(std::uint64_t position, bool failed) {
    std::lock_guard lock(mutex_);
    return commit_one(position, failed);
}

bool Taker::commit_one(std::uint64_t position, bool failed) {
    const bool had_news = held_.has_news();
    if (failure_ || !held_.commit(position, failed)) return false;
    if (asked_) hurries_ = true;
    if (asked_ || !had_news) wake_();
    return true;
}

bool Taker::lost_some() const {
    std::lock_guard lock(mutex_);
    return lost_some_;
}

std::optional<std::string> Taker::failure() const {
    std::lock_guard lock(mutex_);
    return failure_;
}

std::uint64_t Taker::taken() const {
    std::lock_guard lock(mutex_);
    return held_.taken();
}

// ---- the line's ----

void Taker::on(net::Transport& line, const net::Arrival& arrival) {
    if (const auto* joined = std::get_if<net::Joined>(&arrival)) {
        line.admit(joined->peer);
        line.send(joined->peer, encode(Hello{options_.node, options_.rank, drawer_.there()}));
        giver_ = joined->peer;
        return;
    }
    if (const auto* left = std::get_if<net::Left>(&arrival)) return fail(left->why);
    const auto message = decode(std::get<net::Frame>(arrival).bytes);
    if (!message) return fail("it sent what cannot be read");
    std::visit([&](const auto& known) { take(line, known); }, *message);
}

void Taker::take(net::Transport&, const Welcome& welcome) {
    {
        std::lock_guard lock(mutex_);
        begin_batch(welcome.batch);
    }
    changed_.notify_all();
}

void Taker::take(net::Transport& line, const Granted& granted) {
    {
        std::lock_guard lock(mutex_);
        const bool installed = install(granted.positions);
        // What is given at most once is not given back.
        if (!installed && !options_.commits) held_.keep(granted.positions);
        line.send(*giver_, encode(Filled{!installed && options_.commits, granted.positions}));
        asked_ = false;
    }
    changed_.notify_all();
}

bool Taker::install(const Interval& positions) {
    const tickets::TicketRange range{batch_, positions.first, static_cast<std::uint32_t>(positions.size())};
    if (const auto stale = pool_.unclaimed(); stale && stale->batch < batch_)
        pool_.revoke(stale->batch);
    const bool fits = positions.size() <= tickets::kMostTickets;
    return fits && pool_.install(range) == tickets::Install::installed;
}

void Taker::take(net::Transport& line, const Count& count) {
    tell_commits(line);
    {
        std::lock_guard lock(mutex_);
        held_.leave_untaken();
        begin_batch(count.batch);
        line.send(*giver_, encode(Present{count.batch, held_.present()}));
    }
    changed_.notify_all();
}

void Taker::take(net::Transport& line, const Tell& tell) {
    tell_commits(line);
    line.send(*giver_, encode(Told{tell.round}));
}

void Taker::begin_batch(std::uint32_t batch) {
    batch_ = BatchId(batch);
    if (ahead_ && ahead_->batch == batch_) held_.keep(positions_of(*ahead_));
    if (ahead_ && ahead_->batch <= batch_) ahead_.reset();
}

bool Taker::flush(net::Transport& line, bool commits_due, Instant now) {
    if (!giver_) return false;
    bool asks = false;
    {
        std::lock_guard lock(mutex_);
        asks = std::exchange(wants_, false);
        if (std::exchange(hurries_, false)) commits_due = true;
    }
    if (asks && draw(line, now)) asks = false;
    if (asks || commits_due) tell_commits(line);
    if (asks) line.send(*giver_, encode(Draw{}));
    std::lock_guard lock(mutex_);
    return held_.has_news();
}

// One taker draws for the whole node. Others that find no tickets meanwhile draw for themselves.
bool Taker::draw(net::Transport& line, Instant now) {
    bool for_all = false;
    bool was_faster = false;  // a mate
    {
        std::lock_guard lock(mutex_);
        const auto there = pool_.unclaimed();
        was_faster = there && there->batch >= batch_;
        asked_ = !was_faster;
        if (asked_) for_all = drawer_.there() && pool_.refill_turn(now, longest_draw);
    }
    if (was_faster) return changed_.notify_all(), true;
    const auto drawn = drawer_.draw(for_all ? pool_.ranks() : 1);
    {
        std::lock_guard lock(mutex_);
        if (drawn && !(for_all && install(*drawn))) held_.keep(*drawn);
        if (for_all) pool_.end_refill_turn();
        asked_ = !drawn;
    }
    if (drawn) line.send(*giver_, encode(Drew{*drawn}));
    if (drawn) changed_.notify_all();
    return drawn.has_value();
}

void Taker::tell_commits(net::Transport& line) {
    std::lock_guard lock(mutex_);
    if (held_.has_news()) line.send(*giver_, encode(held_.tell()));
}

void Taker::leave(net::Transport& line) {
    if (!giver_) return;
    tell_commits(line);
    line.send(*giver_, encode(Leaving{}));
}

void Taker::take(net::Transport&, const Look&) {
    {
        std::lock_guard lock(mutex_);
        asked_ = false;
    }
    changed_.notify_all();
}

void Taker::take(net::Transport& line, const Sealed& sealed) {
    drawer_.begin(sealed);
    take(line, Look{});
}

void Taker::take(net::Transport& line, const Unsealed& unsealed) {
    drawer_.end(unsealed.batch);
    line.send(*giver_, encode(Closed{unsealed.batch}));
}

void Taker::take(net::Transport&, const Ended& ended) {
    {
        std::lock_guard lock(mutex_);
        ended_ = true;
        lost_some_ = ended.lost_some;
    }
    changed_.notify_all();
}

void Taker::fail(const std::string& why) {
    {
        std::lock_guard lock(mutex_);
        if (!ended_ && !failure_) failure_ = why;
    }
    changed_.notify_all();
}

}  // namespace wq::feed
