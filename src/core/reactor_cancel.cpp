// Tasks that the user wants no more: a range of a thousand million calls costs what its pieces do, which are
// those out with workers and the gaps between them.
#include <algorithm>

#include "core/reactor.h"

namespace wq::core {

// The tasks are free of their workers at once. Whatever those still say of them is stale.
void Reactor::on_event(const CancelRequested& event, Now, Actions& actions) {
    const Interval tasks{event.tasks.first, std::min(event.tasks.end, ledger_.size())};
    IntervalSet all;
    all.insert(tasks);
    const IntervalSet cancelled = ledger_.unended(all);
    if (cancelled.empty()) return;
    cancel_tickets(tasks, actions);
    for (const TaskId task : ledger_.attempted_in(tasks)) cancel_attempted(task, actions);
    ledger_.cancel_fresh(tasks);
    actions.push_back(Cancelled{cancelled});
    cancelled.for_each([&](Interval part) { apply(groups_.failed(part), actions); });
    close_batch_if_over(actions);
}

// Who has claimed them nobody told us; what nobody has, nobody may any more.
void Reactor::cancel_tickets(Interval tasks, Actions& actions) {
    if (!batch_) return;
    IntervalSet sealed;
    batch_->outstanding.for_each_in(tasks, [&](Interval part) { sealed.insert(part); });
    if (sealed.empty()) return;
    revoke(actions);
    sealed.for_each([&](Interval part) {
        batch_->outstanding.erase(part);
        ledger_.change(part, TaskEvent::cancel);
        for (const WorkerId member : batch_->members) tell_to_kill(member, part, 1, actions);
    });
}

void Reactor::cancel_attempted(TaskId task, Actions& actions) {
    if (ledger_.state(task) == TaskState::leased) {
        const Attempted& attempted = ledger_.attempted(task);
        tell_to_kill(attempted.worker, {task.value(), task.value() + 1}, attempted.attempt, actions);
        free_lease(task);
        drop_copy(task, true, actions);
    }
    stop_avoiding(task);
    if (last_chance(task)) --last_chances_;
    ledger_.change(task, TaskEvent::cancel);
}

// One that is away is told when it is back and names it.
void Reactor::tell_to_kill(WorkerId worker, Interval tasks, Attempt attempt, Actions& actions) const {
    if (const Worker* it = workers_.find(worker); it != nullptr && !it->away())
        actions.push_back(Kill{worker, tasks, attempt});
}

}  // namespace wq::core
