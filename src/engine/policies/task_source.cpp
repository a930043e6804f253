#include "engine/policies/task_source.h"

#include <algorithm>

namespace wq::engine::policies {

void TaskSource::on(const TasksAdded& event) {
    const TaskRange& range = event.range;
    const Interval ids{range.first.value(), range.first.value() + range.count};
    ledger_.add(range, event_.wall());
    hooks_.shapes_added();
    // Tasks that ended in an earlier run end before any task is unblocked, so that they are never dispatched.
    event.done.for_each_in(ids, [&](Interval part) { ledger_.change(part, TaskEvent::resume_done); });
    event.failed.for_each_in(ids, [&](Interval part) { ledger_.change(part, TaskEvent::resume_failed); });
    attempts_.apply(groups_.add(range.first, range.count, range.groups, event.done));
    event.failed.for_each_in(ids, [&](Interval part) { attempts_.apply(groups_.failed(part)); });
}

void Cancellation::on(const CancelRequested& event) {
    const Interval tasks{event.tasks.first, std::min(event.tasks.end, ledger_.size())};
    IntervalSet all;
    all.insert(tasks);
    const IntervalSet cancelled = ledger_.unended(all);
    if (cancelled.empty()) return;
    cancel_tickets(tasks);
    for (const TaskId task : ledger_.attempted_in(tasks)) attempts_.cancel(task);
    ledger_.cancel_fresh(tasks);
    act(Cancelled{cancelled});
    cancelled.for_each([&](Interval part) { attempts_.apply(groups_.failed(part)); });
}

// The manager does not know which rank claimed which ticket. Unclaimed tickets must not be claimed any more.
void Cancellation::cancel_tickets(Interval tasks) {
    if (!state_.batch) return;
    IntervalSet sealed;
    state_.batch->outstanding.for_each_in(tasks, [&](Interval part) { sealed.insert(part); });
    if (sealed.empty()) return;
    revoke_batch();
    sealed.for_each([&](Interval part) {
        close_tickets(part, TaskEvent::cancel);
        for (const WorkerId member : state_.batch->members) event_.kill(member, part, 1);
    });
}

namespace {
// Limits the work per event, because each expired task has its own record.
constexpr std::uint64_t most_expired_at_once = 1000;
// Someone may set the wall clock, so it is checked at least this often.
constexpr WallMicros longest_look_ahead_us = 60'000'000;
}  // namespace

void TaskTimes::expire_what_is_over() {
    std::uint64_t left = most_expired_at_once;
    for (IntervalSet expired = ledger_.expired(); !expired.empty() && !state_.run.stopping();
         expired = ledger_.expired())
        while (const auto part = expired.take_front(1)) {
            if (left-- == 0) return;
            const TaskId task(part->first);
            // The failure of another task may have skipped it.
            if (is_final(ledger_.state(task))) continue;
            attempts_.expire(task);
            if (state_.run.stopping()) return;
        }
}

std::optional<Instant> TaskTimes::next_due() const {
    const auto next = ledger_.next_time();
    if (!next || state_.run.stopping()) return std::nullopt;
    const WallMicros wall = event_.wall();
    if (*next <= wall) return now();
    const WallMicros ahead = *next > wall + longest_look_ahead_us ? longest_look_ahead_us : *next - wall;
    return now() + std::chrono::microseconds(ahead);
}

}  // namespace wq::engine::policies
