#include "slices/claims/taker.h"

#include <variant>

namespace wq::slices::claims {

std::uint64_t Holdings::take() {
    ++taken_;
    const std::uint64_t position = claimed_.first++;
    if (!commits_) return position;
    if (newest_) has_.insert(*newest_);
    newest_ = position;
    if (clock_) taken_at_[position] = clock_();
    return position;
}

bool Holdings::drop(std::uint64_t position) {
    if (newest_ == position) {
        newest_.reset();
        return true;
    }
    const bool there = has_.contains(position);
    if (there) has_.erase(position);
    return there;
}

bool Holdings::commit(std::uint64_t position, SliceEnd end) {
    if (!drop(position)) return false;
    const bool failed = end == SliceEnd::failed;
    unsent_.insert(position);
    if (failed) unsent_failed_.insert(position);
    if (!clock_) return true;
    unsent_times_.push_back({position, taken_at_[position], clock_(), failed});
    taken_at_.erase(position);
    return true;
}

void Holdings::give_back(const std::vector<std::uint64_t>& positions) {
    for (const std::uint64_t position : positions) {
        if (commits_ && !drop(position)) continue;
        kept_.insert(position);
        --taken_;
    }
    if (has_claimed()) kept_.insert(std::exchange(claimed_, {}));
}

void Holdings::leave_untaken() {
    if (!commits_) return;  // they are not given again
    kept_ = {};
    claimed_ = {};
}

IntervalSet Holdings::present() const {
    IntervalSet all = has_;
    if (newest_) all.insert(*newest_);
    if (has_claimed()) all.insert(claimed_);
    for (const IntervalSet* more : {&kept_, &unsent_})
        more->for_each([&](const Interval& range) { all.insert(range); });
    return all;
}

Committed Holdings::take_news() {
    sent_taken_ = taken_;
    return {taken_, std::exchange(unsent_, {}), std::exchange(unsent_failed_, {}),
            std::exchange(unsent_times_, {})};
}

Taker::Taker(ranks::tickets::TicketPool& pool, TakerOptions options, std::function<void()> wake)
    : options_(std::move(options)),
      wake_(std::move(wake)),
      drawer_(options_.counters, options_.say),
      claims_(pool) {}

// ---- the consumer's ----

bool Taker::join(std::optional<Instant> until) {
    std::unique_lock lock(mutex_);
    const auto is_over = [this] { return claims_.has_begun() || failure_; };
    until ? static_cast<void>(changed_.wait_for(lock, *until - instant_now(), is_over))
          : changed_.wait(lock, is_over);
    return claims_.has_begun() && !failure_;
}

std::optional<std::uint64_t> Taker::take_after(std::optional<std::uint64_t> done, const std::stop_token& stop,
                                               std::optional<Instant> until) {
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
        if (asked_ && none_left_ && !options_.wait_for_others) return std::nullopt;
        if (!until)
            changed_.wait(lock);
        else if (const Duration left = *until - instant_now(); left <= Duration(0))
            return std::nullopt;
        else
            changed_.wait_for(lock, left);
    }
}

bool Taker::wait_for_end(std::optional<Instant> until) {
    std::unique_lock lock(mutex_);
    const auto is_over = [this] { return ended_ || failure_; };
    if (until) return changed_.wait_for(lock, *until - instant_now(), is_over);
    changed_.wait(lock, is_over);
    return true;
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
    if (!claims_.has_begun() || failure_) return std::nullopt;
    // What is given at most once is ours to the last, although all is granted.
    if (ended_ && held_.commits()) return std::nullopt;
    if (const auto position = next()) return position;
    if (!asked_ && !ended_ && !claims_.is_ahead()) {
        asked_ = wants_ = true;
        none_left_ = false;
        wake_();
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Taker::next() {
    if (!held_.has_claimed() && !held_.claim_kept(options_.most_claimed)) {
        const auto claimed = claims_.claim(options_.most_claimed);
        if (!claimed) return std::nullopt;
        held_.claim(*claimed);
    }
    if (!held_.has_news()) wake_();
    return held_.take();
}

bool Taker::commit(std::uint64_t position, SliceEnd end) {
    std::lock_guard lock(mutex_);
    return commit_one(position, end);
}

bool Taker::commit_one(std::uint64_t position, SliceEnd end) {
    const bool had_news = held_.has_news();
    if (failure_ || !held_.commit(position, end)) return false;
    if (asked_) hurries_ = true;
    if (asked_ || !had_news) wake_();
    return true;
}

std::uint32_t Taker::rank() const {
    std::lock_guard lock(mutex_);
    return options_.rank;
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

void Taker::on(net::frames::Transport& line, const net::frames::Arrival& arrival) {
    if (const auto* joined = std::get_if<net::frames::Joined>(&arrival)) {
        line.admit(joined->peer);
        line.send(joined->peer, encode(Hello{options_.node, options_.rank, drawer_.there()}));
        giver_ = joined->peer;
        return;
    }
    if (const auto* left = std::get_if<net::frames::Left>(&arrival)) return fail(left->why);
    const auto message = decode(std::get<net::frames::Frame>(arrival).bytes);
    if (!message) return fail("a message of the queue cannot be read");
    std::visit([&](const auto& known) { take(line, known); }, *message);
}

void Taker::take(net::frames::Transport&, const Welcome& welcome) {
    {
        std::lock_guard lock(mutex_);
        options_.rank = welcome.rank;
        held_ = Holdings(welcome.commits, welcome.times ? options_.clock : nullptr);
        begin(welcome.batch);
    }
    changed_.notify_all();
}

void Taker::take(net::frames::Transport&, const Refused& refused) {
    fail(refused.why);
}

void Taker::take(net::frames::Transport& line, const Granted& granted) {
    {
        std::lock_guard lock(mutex_);
        const bool installed = claims_.install(granted.positions);
        // What is given at most once is not given back.
        if (!installed && !held_.commits()) held_.keep(granted.positions);
        line.send(*giver_, encode(RefillDone{!installed && held_.commits(), granted.positions}));
        asked_ = false;
    }
    changed_.notify_all();
}

void Taker::take(net::frames::Transport& line, const Census& census) {
    send_commits(line);
    {
        std::lock_guard lock(mutex_);
        held_.leave_untaken();
        begin(census.batch);
        line.send(*giver_, encode(CensusReply{census.batch, held_.present()}));
    }
    changed_.notify_all();
}

void Taker::take(net::frames::Transport& line, const ReportCommits& order) {
    send_commits(line);
    line.send(*giver_, encode(CommitsReported{order.round}));
}

void Taker::begin(std::uint32_t batch) {
    if (const auto claimed = claims_.begin(batch)) held_.keep(*claimed);
}

bool Taker::flush(net::frames::Transport& line, bool commits_due, Instant now) {
    if (!giver_) return false;
    bool asks = false;
    {
        std::lock_guard lock(mutex_);
        asks = std::exchange(wants_, false);
        if (std::exchange(hurries_, false)) commits_due = true;
    }
    if (asks && draw(line, now)) asks = false;
    if (asks || commits_due) send_commits(line);
    if (asks) line.send(*giver_, encode(Refill{}));
    std::lock_guard lock(mutex_);
    return held_.has_news();
}

// One taker draws for the whole node. Others that find no tickets meanwhile draw for themselves.
bool Taker::draw(net::frames::Transport& line, Instant now) {
    bool for_all = false;
    bool was_faster = false;  // a mate
    {
        std::lock_guard lock(mutex_);
        was_faster = claims_.are_left();
        asked_ = !was_faster;
        if (asked_) for_all = drawer_.there() && claims_.begin_draw(now);
    }
    if (was_faster) {
        changed_.notify_all();
        return true;
    }
    const auto drawn = drawer_.draw(for_all ? claims_.mates() : 1);
    {
        std::lock_guard lock(mutex_);
        if (drawn && !(for_all && claims_.install(*drawn))) held_.keep(*drawn);
        if (for_all) claims_.end_draw();
        asked_ = !drawn;
    }
    if (drawn) line.send(*giver_, encode(CounterRange{*drawn}));
    if (drawn) changed_.notify_all();
    return drawn.has_value();
}

void Taker::send_commits(net::frames::Transport& line) {
    std::lock_guard lock(mutex_);
    if (held_.has_news()) line.send(*giver_, encode(held_.take_news()));
}

void Taker::leave(net::frames::Transport& line) {
    if (!giver_) return;
    send_commits(line);
    line.send(*giver_, encode(Leaving{}));
}

void Taker::take(net::frames::Transport&, const NodeRefilled&) {
    {
        std::lock_guard lock(mutex_);
        asked_ = false;
    }
    changed_.notify_all();
}

void Taker::take(net::frames::Transport&, const NoneLeft&) {
    {
        std::lock_guard lock(mutex_);
        none_left_ = true;
    }
    changed_.notify_all();
}

void Taker::take(net::frames::Transport& line, const SealOpened& sealed) {
    drawer_.begin(sealed);
    take(line, NodeRefilled{});
}

void Taker::take(net::frames::Transport& line, const SealClosed& closed) {
    drawer_.end(closed.batch);
    line.send(*giver_, encode(SealReply{closed.batch}));
}

void Taker::take(net::frames::Transport&, const Ended& ended) {
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

}  // namespace wq::slices::claims
