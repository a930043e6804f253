#include "node/usage/limits.h"

#include <signal.h>

namespace wq::node::usage {

namespace {

constexpr Duration grace = std::chrono::seconds(1);  // between SIGTERM and SIGKILL after a timeout
constexpr Duration again = std::chrono::seconds(1);  // repeats SIGKILL, for processes forked meanwhile

}  // namespace

void Limits::watch(RunningTask& task) {
    const Duration timeout = task.order.order.timeout;
    task.has_next_action = timeout > Duration::zero();
    if (task.has_next_action) task.next_action_at = task.started + timeout;
}

void Limits::kill(RunningTask& task, Verdict verdict, Instant now) {
    if (task.verdict == Verdict::none) task.verdict = verdict;
    signal(task, SIGKILL);
    task.has_next_action = true;
    task.next_action_at = now + again;
}

void Limits::check(Instant now) {
    for (RunningTask* task : running_.all())
        if (task->has_next_action && now >= task->next_action_at) time_over(*task, now);
}

void Limits::time_over(RunningTask& task, Instant now) {
    if (task.verdict != Verdict::none) return kill(task, task.verdict, now);
    task.verdict = Verdict::timed_out;
    signal(task, SIGTERM);
    signal(task, SIGCONT);  // a stopped process would not handle SIGTERM
    task.next_action_at = now + grace;
}

std::optional<Instant> Limits::next() const {
    std::optional<Instant> first;
    for (const RunningTask* task : running_.all())
        if (task->has_next_action && (!first || task->next_action_at < *first)) first = task->next_action_at;
    return first;
}

std::vector<pid_t> Limits::tree(const RunningTask& task) const {
    std::vector<pid_t> pids = process::descendants_of(task.pid);
    pids.push_back(task.pid);
    const std::vector<pid_t> orphans = leftovers_.of(task);
    pids.insert(pids.end(), orphans.begin(), orphans.end());
    return pids;
}

void Limits::signal(const RunningTask& task, int signal) const {
    if (task.pid <= 0) return;
    const auto all = tree(task);
    // First the task's own: a shell that waits for a command in another session must have its signal before
    // the command ends, or it goes on with the next.
    ::kill(-task.pid, signal);
    for (const pid_t pid : all) ::kill(pid, signal);
    if (signal == SIGKILL && task.group) task.group->kill();  // also kills processes forked meanwhile
}

}  // namespace wq::node::usage
