#include "views/model/waiting_asks.h"

#include <algorithm>

#include "views/model/attempt_times.h"

namespace wq::views::model {

namespace {

// splitmix64: sets are told apart by the exclusive or of their members' marks.
std::uint64_t mark_of(std::uint32_t ask) {
    std::uint64_t mark = (std::uint64_t{ask} + 1) * 0x9E3779B97F4A7C15u;
    mark = (mark ^ (mark >> 30)) * 0xBF58476D1CE4E5B9u;
    mark = (mark ^ (mark >> 27)) * 0x94D049BB133111EBu;
    return mark ^ (mark >> 31);
}

constexpr std::size_t index_of(engine::model::WaitReason reason) {
    return static_cast<std::size_t>(reason);
}

}  // namespace

WaitingAsks::WaitingAsks(const RunView& run) : asks_(run.asks.size() + 1) {
    is_recorded_ = !run.waiting.empty();
    for (const RunAttempt& attempt : run.attempts) {
        is_recorded_ = is_recorded_ || attempt.ready > 0;
        last_submitted_ = std::max(last_submitted_, attempt.submitted);
        last_end_ = std::max(last_end_, attempt.received == 0 ? latest_time : attempt.received);
    }
    bound_time(last_submitted_), bound_time(last_end_);
}

std::uint32_t WaitingAsks::place_of(std::uint32_t ask) const {
    return std::min(ask, static_cast<std::uint32_t>(asks_.size() - 1));
}

void WaitingAsks::mark(std::uint32_t place) {
    if (asks_[place].is_marked) return;
    asks_[place].is_marked = true;
    changed_.push_back(place);
}

void WaitingAsks::be_ready(std::uint32_t ask, int by) {
    const std::uint32_t place = place_of(ask);
    asks_[place].attempts += by;
    waiting_ += by;
    mark(place);
}

void WaitingAsks::take(const RunWaiting& row) {
    const std::uint32_t place = place_of(row.ask);
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    const auto tasks = static_cast<std::int64_t>(std::min(row.tasks, most));
    std::int64_t& before = asks_[place].rows[index_of(row.reason)];
    by_reason_[index_of(row.reason)] += tasks - before;
    before = tasks;
    if (row.reason == Reason::no_worker) is_held_back_ = false;  // until a sample says so
    if (row.reason == Reason::tasks || row.reason == Reason::start_time) blocked_changed_ = true;
    asks_[place].is_changed = true;
    mark(place);
}

void WaitingAsks::sample(bool is_connected) {
    is_held_back_ = is_connected && tasks(Reason::no_worker) > 0;
}

void WaitingAsks::begin_session() {
    for (std::uint32_t place = 0; place < asks_.size(); ++place) {
        AskState& state = asks_[place];
        if (state.never_ran == 0 &&
            std::all_of(state.rows.begin(), state.rows.end(), [](std::int64_t tasks) { return tasks == 0; }))
            continue;
        state.rows = {};
        waiting_ -= state.never_ran;
        state.never_ran = 0;
        mark(place);
    }
    by_reason_ = {};
    blocked_never_ran_ = 0;
    is_held_back_ = false;
}

void WaitingAsks::update(AskState& state, std::uint32_t place) {
    const auto rows = [&](Reason reason) { return state.rows[index_of(reason)]; };
    if (state.is_changed) {
        const std::int64_t all = rows(Reason::busy) + rows(Reason::no_worker) + rows(Reason::nowhere) +
                                 rows(Reason::hosts) + rows(Reason::limit);
        waiting_ -= state.never_ran;
        state.never_ran = std::max<std::int64_t>(all - state.attempts, 0);
        waiting_ += state.never_ran;
    }
    state.is_changed = state.is_marked = false;
    const bool is_ready = state.attempts + state.never_ran > rows(Reason::limit);
    if (is_ready == (ready_.count(place) > 0)) return;
    ready_id_ ^= mark_of(place);
    if (is_ready)
        ready_.insert(place);
    else
        ready_.erase(place);
}

bool WaitingAsks::settle(WallMicros now) {
    const std::uint64_t before = ready_id_;
    for (const std::uint32_t place : changed_) update(asks_[place], place);
    changed_.clear();
    if (blocked_changed_)
        blocked_never_ran_ = std::max<std::int64_t>(
            tasks(Reason::tasks) + tasks(Reason::start_time) - blocked_[0] - blocked_[1], 0);
    blocked_changed_ = false;
    const std::optional<AccountLine> line_before = line_;
    line_ = line(now);
    return ready_id_ != before || line_ != line_before;
}

std::optional<AccountLine> WaitingAsks::line(WallMicros now) const {
    if (!is_recorded_) return AccountLine::unknown;
    if (is_held_back_ || tasks(Reason::stopping) > 0 || tasks(Reason::storage) > 0)
        return AccountLine::manager;
    if (!ready_.empty()) return {};
    if (blocked_[0] + blocked_[1] + blocked_never_ran_ > 0) {
        if (tasks(Reason::tasks) > 0) return AccountLine::waits_for_tasks;
        if (tasks(Reason::start_time) > 0) return AccountLine::waits_for_limits;
        // No sample saw them. A first attempt may also have waited for a start time.
        return blocked_[0] > 0 ? AccountLine::waits_for_tasks : AccountLine::waits_for_limits;
    }
    if (waiting_ > 0) return AccountLine::waits_for_limits;
    if (tasks(Reason::program) > 0 || now < last_submitted_) return AccountLine::waits_for_program;
    if (dispatched_ > 0) return AccountLine::tail;
    return now < last_end_ ? AccountLine::unknown : AccountLine::after_the_end;
}

}  // namespace wq::views::model
