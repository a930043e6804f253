// Start and end times of tasks, by the wall clock.
#include <algorithm>

#include "core/reactor.h"

namespace wq::core {

namespace {
// Not more at once: each has a record of its own.
constexpr std::uint64_t most_expired_at_once = 1000;
// The wall clock may be set: it is looked at again after so long.
constexpr WallMicros longest_look_ahead_us = 60'000'000;
// A limit beyond that is none (100 years; in nanoseconds it still is a number).
constexpr WallMicros no_limit_us = 3'155'760'000'000'000;
}  // namespace

Instant Reactor::when(WallMicros wall) const {
    if (wall <= last_wall_) return last_event_;
    const WallMicros ahead =
        wall > last_wall_ + longest_look_ahead_us ? longest_look_ahead_us : wall - last_wall_;
    return last_event_ + std::chrono::microseconds(ahead);
}

void Reactor::expire(Now now, Actions& actions) {
    std::uint64_t left = most_expired_at_once;
    for (IntervalSet expired = ledger_.expired(); !expired.empty() && !stop_; expired = ledger_.expired())
        while (const auto part = expired.take_front(1)) {
            if (left-- == 0) return;
            const TaskId task(part->first);
            // Whoever waited for it was skipped meanwhile, perhaps this one.
            if (is_final(ledger_.state(task))) continue;
            expire(task, now, actions);
            if (stop_) return;
        }
}

void Reactor::expire(TaskId task, Now now, Actions& actions) {
    const Attempted* attempted = ledger_.find_attempted(task);
    AttemptEnded ended;
    ended.task = task;
    ended.attempt = attempted == nullptr ? 1 : attempted->next();
    ended.worker = unknown_worker;
    ended.category = ledger_.shape(ledger_.shape_of(task)).category;
    ended.submitted_us = ledger_.submitted(task);
    ended.outcome.ending = Ending::expired;
    actions.push_back(std::move(ended));
    if (last_chance(task)) --last_chances_;
    ledger_.change(task, TaskEvent::expire);
    stop_avoiding(task);
    end_in_failure(task, now, actions);
}

// What an attempt that is given out now may take.
Duration Reactor::time_for(TaskId task, Now now) const {
    const Duration timeout = ledger_.shape(ledger_.shape_of(task)).timeout;
    const auto& end = ledger_.times(task).not_after;
    if (!end || *end > no_limit_us) return timeout;
    const Duration left = std::chrono::microseconds(std::max<WallMicros>(*end - now.wall, 1));
    return timeout > Duration{0} ? std::min(timeout, left) : left;
}

// By the limit of time_for(), not by one of its own.
bool Reactor::ended_by_its_end_time(TaskId task, const Outcome& outcome) const {
    const auto& end = ledger_.times(task).not_after;
    if (!end || outcome.ending != Ending::timed_out) return false;
    const Duration timeout = ledger_.shape(ledger_.shape_of(task)).timeout;
    const WallMicros begun = ledger_.find_attempted(task)->dispatched_us;
    return timeout <= Duration{0} || *end - begun <= timeout / std::chrono::microseconds(1);
}

}  // namespace wq::core
