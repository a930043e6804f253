#include "engine/policies/task_times.h"

namespace wq::engine::policies {

namespace {
// Limits the work per event, because each expired task has its own record.
constexpr std::uint64_t most_expired_at_once = 1000;
// Someone may set the wall clock, so it is checked at least this often.
constexpr WallMicros longest_look_ahead_us = 60'000'000;
}  // namespace

void TaskTimes::expire_what_is_over() {
    std::uint64_t left = most_expired_at_once;
    for (IntervalSet expired = ledger_.expired(); !expired.empty() && !state_.stopping;
         expired = ledger_.expired())
        while (const auto part = expired.take_front(1)) {
            if (left-- == 0) return;
            const TaskId task(part->first);
            // The failure of another task may have skipped it.
            if (is_final(ledger_.state(task))) continue;
            attempts_.expire(task);
            if (state_.stopping) return;
        }
}

std::optional<Instant> TaskTimes::next_due() const {
    const auto next = ledger_.next_time();
    if (!next || state_.stopping) return std::nullopt;
    const WallMicros wall = state_.now.wall;
    if (*next <= wall) return now();
    const WallMicros ahead = *next > wall + longest_look_ahead_us ? longest_look_ahead_us : *next - wall;
    return now() + std::chrono::microseconds(ahead);
}

}  // namespace wq::engine::policies
