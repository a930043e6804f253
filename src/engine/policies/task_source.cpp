#include "engine/policies/task_source.h"

#include <algorithm>

namespace wq::engine::policies {

void TaskSource::on(const TasksAdded& event) {
    const TaskRange& range = event.range;
    const Interval ids{range.first.value(), range.first.value() + range.count};
    ledger_.add(range, state_.now.wall);
    hooks_.shapes_added();
    // Tasks that ended in an earlier run end before any task is unblocked, so that they are never dispatched.
    event.done.for_each_in(ids, [&](Interval part) { ledger_.change(part, TaskEvent::resume_done); });
    event.failed.for_each_in(ids, [&](Interval part) { ledger_.change(part, TaskEvent::resume_failed); });
    attempts_.apply(state_.groups.add(range.first, range.count, range.groups, event.done));
    event.failed.for_each_in(ids, [&](Interval part) { attempts_.apply(state_.groups.failed(part)); });
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
    cancelled.for_each([&](Interval part) { attempts_.apply(state_.groups.failed(part)); });
}

// The manager does not know which rank claimed which ticket. Unclaimed tickets must not be claimed any more.
void Cancellation::cancel_tickets(Interval tasks) {
    if (!state_.batch) return;
    IntervalSet sealed;
    state_.batch->outstanding.for_each_in(tasks, [&](Interval part) { sealed.insert(part); });
    if (sealed.empty()) return;
    state_.revoke_batch();
    sealed.for_each([&](Interval part) {
        state_.batch->outstanding.erase(part);
        ledger_.change(part, TaskEvent::cancel);
        for (const WorkerId member : state_.batch->members) state_.kill(member, part, 1);
    });
}

}  // namespace wq::engine::policies
