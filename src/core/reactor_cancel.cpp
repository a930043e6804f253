// Tasks that the user wants no more.
#include "core/reactor.h"

namespace wq::core {

// The task is free of its worker at once. Whatever that still says of it is stale.
void Reactor::on_event(const CancelRequested& event, Now, Actions& actions) {
    const TaskId task = event.task;
    if (task.value() >= ledger_.size()) return;
    const TaskState state = ledger_.state(task);
    if (is_final(state)) return;
    if (state == TaskState::leased) {
        const Attempted& attempted = ledger_.attempted(task);
        tell_to_kill(attempted.worker, task, attempted.attempt, actions);
        free_lease(task);
    }
    if (state ==
        TaskState::sealed) {  // who has claimed it nobody told us; if nobody has, nobody may any more
        batch_->outstanding.erase(task.value());
        revoke(actions);
        for (const WorkerId member : batch_->members) tell_to_kill(member, task, 1, actions);
    }
    if (last_chance(task)) --last_chances_;
    ledger_.change(task, TaskEvent::cancel);
    actions.push_back(Cancelled{task});
    apply(groups_.failed({task.value(), task.value() + 1}), actions);
    close_batch_if_over(actions);
}

// One that is away is told when it is back and names it.
void Reactor::tell_to_kill(WorkerId worker, TaskId task, Attempt attempt, Actions& actions) const {
    if (const Worker* it = workers_.find(worker); it != nullptr && !it->away())
        actions.push_back(Kill{worker, task, attempt});
}

}  // namespace wq::core
