// What the task source says: tasks, barriers, the end.
#include "core/reactor.h"

namespace wq::core {

void Reactor::on_event(const TasksAdded& event, Now now, Actions& actions) {
    const TaskRange& range = event.range;
    const Interval ids{range.first.value(), range.first.value() + range.count};
    ledger_.add(range, now.wall);
    note_shapes();
    // An earlier run's ends come before anything is unblocked, so that nothing is given out that is done.
    event.done.for_each_in(ids, [&](Interval part) { ledger_.change(part, TaskEvent::resume_done); });
    event.failed.for_each_in(ids, [&](Interval part) { ledger_.change(part, TaskEvent::resume_failed); });
    apply(groups_.add(range.first, range.count, range.groups, event.done), actions);
    event.failed.for_each_in(ids, [&](Interval part) { apply(groups_.failed(part), actions); });
}

void Reactor::on_event(const BarrierAdded&, Now, Actions& actions) {
    apply(groups_.barrier(), actions);
}

void Reactor::on_event(const InputEnded&, Now, Actions&) {
    input_ended_ = true;
}

void Reactor::apply(const GroupChange& change, Actions& actions) {
    const IntervalSet dead = ledger_.unended(change.dead);
    dead.for_each([&](Interval part) {
        ledger_.change(part, TaskEvent::skip);
        stop_avoiding(part);
    });
    if (!dead.empty()) {
        const bool cancelled = ledger_.state(change.because) == TaskState::cancelled;
        const std::string reason = "task " + std::to_string(change.because.value()) + " of its group " +
                                   (cancelled ? "was cancelled" : "failed");
        actions.push_back(Skipped{dead, reason, change.because});
    }
    ledger_.unended(change.unblocked).for_each([&](Interval part) {
        ledger_.change(part, TaskEvent::unblock);
    });
}

}  // namespace wq::core
