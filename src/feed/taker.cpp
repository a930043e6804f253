#include "feed/taker.h"

#include <utility>
#include <variant>

namespace wq::feed {

namespace {

Interval positions_of(const tickets::TicketRange& range) {
    return {range.first, range.first + range.count};
}

}  // namespace

Taker::Taker(tickets::TicketPool& pool, TakerOptions options, std::function<void()> wake)
    : options_(std::move(options)), wake_(std::move(wake)), pool_(pool) {}

// ---- the consumer's ----

bool Taker::join() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batch_.value() != 0 || failure_; });
    return !failure_;
}

std::optional<std::uint64_t> Taker::take() {
    std::unique_lock lock(mutex_);
    if (!options_.by_hand) commit_all();
    for (;;) {
        if (const auto position = next_or_ask()) return position;
        if (ended_ || failure_) return std::nullopt;
        changed_.wait(lock);
    }
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
        if (ended_ || failure_) return std::nullopt;
        changed_.wait(lock);
    }
}

void Taker::give_back(const std::vector<std::uint64_t>& positions) {
    {
        const std::lock_guard lock(mutex_);
        for (const std::uint64_t position : positions) {
            if (options_.commits && !drop(position)) continue;
            kept_.insert(position);
            --taken_;
        }
        if (claimed_.size() > 0) kept_.insert(std::exchange(claimed_, {}));
    }
    changed_.notify_all();
}

std::optional<std::uint64_t> Taker::try_take() {
    std::lock_guard lock(mutex_);
    if (!options_.by_hand) commit_all();
    return next_or_ask();
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
    if (claimed_.size() == 0) {
        const auto more = claim();
        if (!more) return std::nullopt;
        claimed_ = *more;
    }
    if (!has_news()) wake_();
    ++taken_;
    if (options_.commits) {
        if (newest_) has_.insert(*newest_);
        newest_ = claimed_.first;
        if (options_.clock) taken_at_[claimed_.first] = options_.clock();
    }
    return claimed_.first++;
}

std::optional<Interval> Taker::claim() {
    if (const auto kept = kept_.take_front(options_.most_claimed)) return kept;
    while (!ahead_) {
        const std::uint64_t part =
            tickets::guided_size(pool_.remaining(), pool_.ranks(), 1, options_.most_claimed);
        const tickets::Claim claim = pool_.take(static_cast<std::uint32_t>(part));
        if (claim.state == tickets::Claim::State::dry) break;
        // Overwritten: nobody has these any more; the giver finds that.
        if (claim.state == tickets::Claim::State::overwritten) continue;
        if (claim.range.batch == batch_) return positions_of(claim.range);
        if (claim.range.batch > batch_) ahead_ = claim.range;
    }
    return std::nullopt;
}

bool Taker::commit(std::uint64_t position, bool failed) {
    std::lock_guard lock(mutex_);
    return commit_one(position, failed);
}

bool Taker::drop(std::uint64_t position) {
    if (newest_ == position) {
        newest_.reset();
        return true;
    }
    const bool there = has_.contains(position);
    if (there) has_.erase(position);
    return there;
}

bool Taker::commit_one(std::uint64_t position, bool failed) {
    if (failure_ || !drop(position)) return false;
    if (asked_) hurries_ = true;
    if (asked_ || !has_news()) wake_();
    untold_.insert(position);
    note_times({position, position + 1}, failed);
    if (failed) untold_failed_.insert(position);
    return true;
}

void Taker::commit_all() {
    if (const auto newest = std::exchange(newest_, std::nullopt)) has_.insert(*newest);
    if (has_.empty()) return;
    if (!has_news()) wake_();
    has_.for_each([&](const Interval& range) {
        untold_.insert(range);
        note_times(range);
    });
    has_ = {};
}

void Taker::note_times(const Interval& committed, bool failed) {
    if (!options_.clock) return;
    const std::int64_t now = options_.clock();
    for (std::uint64_t position = committed.first; position < committed.end; ++position) {
        untold_times_.push_back({position, taken_at_[position], now, failed});
        taken_at_.erase(position);
    }
}

std::uint32_t Taker::rank() const {
    std::lock_guard lock(mutex_);
    return options_.rank;
}

bool Taker::lost_some() const {
    std::lock_guard lock(mutex_);
    return lost_some_;
}

bool Taker::ended() const {
    std::lock_guard lock(mutex_);
    return ended_;
}

std::optional<std::string> Taker::failure() const {
    std::lock_guard lock(mutex_);
    return failure_;
}

std::uint64_t Taker::taken() const {
    std::lock_guard lock(mutex_);
    return taken_;
}

// ---- the line's ----

void Taker::on(net::Transport& line, const net::Arrival& arrival) {
    if (const auto* joined = std::get_if<net::Joined>(&arrival)) {
        line.admit(joined->peer);
        line.send(joined->peer, encode(Hello{options_.node, options_.rank}));
        giver_ = joined->peer;
        return;
    }
    if (const auto* left = std::get_if<net::Left>(&arrival)) return fail(left->why);
    const auto& frame = std::get<net::Frame>(arrival);
    const auto message = decode(frame.bytes);
    if (!message) return fail("it sent what cannot be read");
    if (const auto* granted = std::get_if<Granted>(&*message)) return take(line, *granted);
    if (const auto* count = std::get_if<Count>(&*message)) return take(line, *count);
    if (const auto* tell = std::get_if<Tell>(&*message)) return take(line, *tell);
    if (const auto* welcome = std::get_if<Welcome>(&*message)) return take(*welcome);
    if (const auto* ended = std::get_if<Ended>(&*message)) return take(*ended);
    if (std::holds_alternative<Look>(*message)) return look();
    fail("it sent what only others send");
}

void Taker::take(const Welcome& welcome) {
    {
        std::lock_guard lock(mutex_);
        options_.rank = welcome.rank;
        options_.commits = welcome.commits;
        if (!welcome.times) options_.clock = {};
        begin_batch(welcome.batch);
    }
    changed_.notify_all();
}

void Taker::take(net::Transport& line, const Granted& granted) {
    {
        std::lock_guard lock(mutex_);
        const tickets::TicketRange range{batch_, granted.positions.first,
                                         static_cast<std::uint32_t>(granted.positions.size())};
        if (const auto stale = pool_.unclaimed().range; stale && stale->batch < batch_)
            pool_.revoke(stale->batch);
        const bool fits = granted.positions.size() <= tickets::kMostTickets;
        const bool installed = fits && pool_.install(range) == tickets::Install::installed;
        // What is given at most once is not given back.
        if (!installed && !options_.commits) kept_.insert(granted.positions);
        line.send(*giver_, encode(Filled{!installed && options_.commits, granted.positions}));
        asked_ = false;
    }
    changed_.notify_all();
}

void Taker::take(net::Transport& line, const Count& count) {
    tell_commits(line);
    {
        std::lock_guard lock(mutex_);
        leave_untaken();
        begin_batch(count.batch);
        line.send(*giver_, encode(Present{count.batch, present()}));
    }
    changed_.notify_all();
}

void Taker::take(net::Transport& line, const Tell& tell) {
    tell_commits(line);
    line.send(*giver_, encode(Told{tell.round}));
}

void Taker::begin_batch(std::uint32_t batch) {
    batch_ = BatchId(batch);
    if (ahead_ && ahead_->batch == batch_) kept_.insert(positions_of(*ahead_));
    if (ahead_ && ahead_->batch <= batch_) ahead_.reset();
}

// Not in the answer: from now on they are for others, as a consumer may take no more.
void Taker::leave_untaken() {
    if (!options_.commits) return;
    kept_ = {};
    claimed_ = {};
}

IntervalSet Taker::present() const {
    IntervalSet all = has_;
    if (newest_) all.insert(*newest_);
    if (claimed_.size() > 0) all.insert(claimed_);
    for (const IntervalSet* more : {&kept_, &untold_})
        more->for_each([&](const Interval& range) { all.insert(range); });
    return all;
}

bool Taker::flush(net::Transport& line, bool commits_due) {
    if (!giver_) return false;
    bool asks = false;
    {
        std::lock_guard lock(mutex_);
        asks = std::exchange(wants_, false);
        if (std::exchange(hurries_, false)) commits_due = true;
    }
    if (asks || commits_due) tell_commits(line);
    if (asks) line.send(*giver_, encode(Draw{}));
    std::lock_guard lock(mutex_);
    return has_news();
}

void Taker::tell_commits(net::Transport& line) {
    std::lock_guard lock(mutex_);
    if (!has_news()) return;
    line.send(*giver_, encode(Committed{taken_, std::exchange(untold_, {}), std::exchange(untold_failed_, {}),
                                        std::exchange(untold_times_, {})}));
    told_taken_ = taken_;
}

void Taker::leave(net::Transport& line) {
    if (!giver_) return;
    tell_commits(line);
    line.send(*giver_, encode(Leaving{}));
}

void Taker::look() {
    {
        std::lock_guard lock(mutex_);
        asked_ = false;
    }
    changed_.notify_all();
}

void Taker::take(const Ended& ended) {
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
        if (!failure_) return;
    }
    changed_.notify_all();
    lost_.request_stop();
}

}  // namespace wq::feed
