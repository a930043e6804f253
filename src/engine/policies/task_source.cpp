#include "engine/policies/task_source.h"

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

}  // namespace wq::engine::policies
