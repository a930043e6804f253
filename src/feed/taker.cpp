#include "feed/taker.h"

#include <utility>
#include <variant>

namespace wq::feed {

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
    if (!asked_ && !ended_) {
        asked_ = wants_ = true;
        wake_();
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Taker::next() {
    while (claimed_.size() == 0) {
        if (const auto kept = kept_.take_front(options_.most_claimed)) {
            claimed_ = *kept;
            break;
        }
        const std::uint64_t part =
            tickets::guided_size(pool_.remaining(), pool_.ranks(), 1, options_.most_claimed);
        const tickets::Claim claim = pool_.take(static_cast<std::uint32_t>(part));
        if (claim.state == tickets::Claim::State::dry) return std::nullopt;
        // Overwritten: nobody has these any more; the giver finds that.
        if (claim.state == tickets::Claim::State::claimed && claim.range.batch == batch_)
            claimed_ = {claim.range.first, claim.range.first + claim.range.count};
    }
    ++taken_;
    if (options_.commits) {
        if (newest_) has_.insert(*newest_);
        newest_ = claimed_.first;
    }
    return claimed_.first++;
}

bool Taker::commit(std::uint64_t position) {
    std::lock_guard lock(mutex_);
    return commit_one(position);
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

bool Taker::commit_one(std::uint64_t position) {
    if (failure_ || !drop(position)) return false;
    if (asked_) hurries_ = true;
    if (asked_ || untold_.empty()) wake_();
    untold_.insert(position);
    return true;
}

void Taker::commit_all() {
    if (const auto newest = std::exchange(newest_, std::nullopt)) has_.insert(*newest);
    if (has_.empty()) return;
    if (untold_.empty()) wake_();
    has_.for_each([&](const Interval& range) { untold_.insert(range); });
    has_ = {};
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
        line.send(joined->peer, encode(Hello{options_.node}));
        giver_ = joined->peer;
        return;
    }
    if (const auto* left = std::get_if<net::Left>(&arrival)) return fail(left->why);
    const auto& frame = std::get<net::Frame>(arrival);
    const auto message = decode(frame.bytes);
    if (!message) return fail("it sent what cannot be read");
    if (const auto* granted = std::get_if<Granted>(&*message)) return take(line, *granted);
    if (const auto* count = std::get_if<Count>(&*message)) return take(line, *count);
    if (const auto* welcome = std::get_if<Welcome>(&*message)) return take(*welcome);
    if (const auto* ended = std::get_if<Ended>(&*message)) return take(*ended);
    if (std::holds_alternative<Look>(*message)) return look();
    fail("it sent what only others send");
}

void Taker::take(const Welcome& welcome) {
    {
        std::lock_guard lock(mutex_);
        batch_ = BatchId(welcome.batch);
    }
    changed_.notify_all();
}

void Taker::take(net::Transport& line, const Granted& granted) {
    {
        std::lock_guard lock(mutex_);
        const tickets::TicketRange range{batch_, granted.positions.first,
                                         static_cast<std::uint32_t>(granted.positions.size())};
        if (const auto stale = pool_.unclaimed().range; stale && stale->batch != batch_)
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
    std::lock_guard lock(mutex_);
    Present answer{count.count, 0, {}};
    answer.positions = present(answer.fill);
    line.send(*giver_, encode(answer));
}

// The tickets are read first: what a mate claims afterwards is in this answer, what we claim in between in
// both parts.
IntervalSet Taker::present(std::uint32_t& fill) {
    if (options_.commits) kept_ = {};  // not in the answer: from now on they are for others
    IntervalSet all = has_;
    if (newest_) all.insert(*newest_);
    const tickets::TicketPool::Unclaimed unclaimed = pool_.unclaimed();
    fill = unclaimed.fill;
    if (unclaimed.range && unclaimed.range->batch == batch_)
        all.insert(Interval{unclaimed.range->first, unclaimed.range->first + unclaimed.range->count});
    if (claimed_.size() > 0) all.insert(claimed_);
    untold_.for_each([&](const Interval& range) { all.insert(range); });
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
    return !untold_.empty();
}

void Taker::tell_commits(net::Transport& line) {
    std::lock_guard lock(mutex_);
    if (untold_.empty()) return;
    line.send(*giver_, encode(Committed{std::exchange(untold_, {})}));
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
    }
    changed_.notify_all();
}

}  // namespace wq::feed
