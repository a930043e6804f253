// What the task source says: tasks, barriers, the end.
#include "core/reactor.h"

namespace wq::core {

void Reactor::on_event(const TasksAdded& event, Now now, Actions& actions) {
    const TaskRange& range = event.range;
    const Interval ids{range.first.value(), range.first.value() + range.count};
    ledger_.add(range, now.wall);
    GroupChange change = groups_.add(range.first, range.count, range.groups);

    // An earlier run's ends come before anything is unblocked, so that nothing is given out that is done.
    event.done.for_each_in(ids, [&](Interval part) { ledger_.change(part, TaskEvent::resume_done); });
    event.failed.for_each_in(ids, [&](Interval part) { ledger_.change(part, TaskEvent::resume_failed); });
    apply(change, now, actions);
    event.done.for_each_in(ids, [&](Interval part) { apply(groups_.succeeded(part), now, actions); });
    event.failed.for_each_in(ids, [&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) apply(groups_.failed(TaskId(id)), now, actions);
    });
}

void Reactor::on_event(const BarrierAdded&, Now now, Actions& actions) { apply(groups_.barrier(), now, actions); }

void Reactor::on_event(const InputEnded&, Now, Actions&) { input_ended_ = true; }

void Reactor::apply(const GroupChange& change, Now now, Actions& actions) {
    IntervalSet dead;
    change.dead.for_each([&](Interval part) {
        ledger_.blocked_part(part).for_each([&](Interval blocked) { dead.insert(blocked); });
    });
    if (!dead.empty()) skip(dead, "task " + std::to_string(change.because.value()) + " of its group failed", change.because, actions);
    change.unblocked.for_each([&](Interval part) {
        ledger_.blocked_part(part).for_each([&](Interval blocked) { ledger_.change(blocked, TaskEvent::unblock); });
    });
    static_cast<void>(now);
}

void Reactor::skip(const IntervalSet& tasks, const std::string& reason, std::optional<TaskId> because, Actions& actions) {
    tasks.for_each([&](Interval part) { ledger_.change(part, TaskEvent::skip); });
    actions.push_back(Skipped{tasks, reason, because});
}

}  // namespace wq::core
