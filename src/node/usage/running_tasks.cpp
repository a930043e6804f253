#include "node/usage/running_tasks.h"

#include <algorithm>

namespace wq::node::usage {

void RunningTask::begin_anew() {
    pid = 0;
    outcome = {};
    report.reset();
    verdict = Verdict::none;
    has_next_action = false;
}

namespace {
template <class Condition>
RunningTask* find(const std::vector<RunningTask*>& tasks, Condition&& condition) {
    const auto found = std::find_if(tasks.begin(), tasks.end(), condition);
    return found == tasks.end() ? nullptr : *found;
}
}  // namespace

RunningTask* RunningTasks::by_pid(pid_t pid) const {
    return pid == 0 ? nullptr : find(all_, [&](const RunningTask* task) { return task->pid == pid; });
}

RunningTask* RunningTasks::by_task(TaskId task, Attempt attempt) const {
    return find(all_, [&](const RunningTask* running) {
        return running->order.order.task == task && running->order.order.attempt == attempt;
    });
}

RunningTask* RunningTasks::by_serial(std::uint64_t serial) const {
    return find(all_, [&](const RunningTask* task) { return task->order.serial == serial; });
}

}  // namespace wq::node::usage
