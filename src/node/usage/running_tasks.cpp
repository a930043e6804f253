#include "node/usage/running_tasks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "node/process/task_environment.h"

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

namespace {
std::uint64_t number(const std::optional<std::string>& text) {
    std::uint64_t value = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), value);
    return value;
}
}  // namespace

Leftovers::Leftovers(const RunningTasks& running)
    : running_(running), session_(getsid(0)), group_(getpgrp()) {}

void Leftovers::reaped(pid_t pid) {
    own_.erase(pid);
    const auto found = orphans_.find(pid);
    if (found == orphans_.end()) return;
    if (found->second.of == Orphan::Of::unknown) --unknown_;
    orphans_.erase(found);
}

Leftovers::Orphan Leftovers::classify(pid_t pid) const {
    const auto facts = process::facts_of(pid);
    if (!facts) return {Orphan::Of::ended_task, 0};
    if (const RunningTask* task = running_.by_pid(facts->group))
        return {Orphan::Of::task, task->order.serial};
    for (const RunningTask* task : running_.all())  // seen there while it still had its parent
        if (task->monitor && task->monitor->holds(pid, facts->began))
            return {Orphan::Of::task, task->order.serial};
    // It left its task's process group, but its initial environment still names the task.
    if (const auto id = process::environment_of(pid, "WORK_QUEUE_TASK_ID")) {
        const auto attempt = static_cast<Attempt>(number(process::environment_of(pid, "WORK_QUEUE_ATTEMPT")));
        const RunningTask* task = running_.by_task(TaskId(number(id)), attempt);
        return task != nullptr ? Orphan{Orphan::Of::task, task->order.serial}
                               : Orphan{Orphan::Of::ended_task, 0};
    }
    // An interpreter's environment names no task, and a process that was forked there has no other.
    if (with_shell_ && !process::environment_of(pid, process::interpreter_mark)) {
        // A subshell that executed nothing has the shell's environment. In our session, any group but ours
        // was a task's.
        const bool of_task = facts->session == session_ && facts->group != group_;
        return {of_task ? Orphan::Of::ended_task : Orphan::Of::shell, shells_gone_};
    }
    // It belongs to a task that ran when it was first seen, so it is killed when the last of those has ended.
    Orphan orphan;
    for (const RunningTask* task : running_.all())
        orphan.serial = std::max(orphan.serial, task->order.serial);
    return orphan;
}

bool Leftovers::doomed(const Orphan& orphan) const {
    switch (orphan.of) {
        case Orphan::Of::task:
            return running_.by_serial(orphan.serial) == nullptr;
        case Orphan::Of::ended_task:
            return true;
        case Orphan::Of::shell:
            return orphan.serial < shells_gone_;
        case Orphan::Of::unknown:
            return std::none_of(running_.all().begin(), running_.all().end(),
                                [&](const RunningTask* task) { return task->order.serial <= orphan.serial; });
    }
    return false;
}

void Leftovers::shell_gone() {
    sweep();  // finds new orphans
    ++shells_gone_;
    sweep();
}

bool Leftovers::sweep_if_cheap(Instant now) {
    if (children_.cheap()) return sweep();
    owed_ = true;
    return now >= not_before_ && sweep();
}

bool Leftovers::sweep() {
    bool killed = false;
    owed_ = false;
    const Instant begin = instant_now();
    for (const pid_t pid : children_.list()) {
        if (running_.by_pid(pid) != nullptr || own_.contains(pid)) continue;
        auto found = orphans_.find(pid);
        if (found == orphans_.end()) {
            found = orphans_.emplace(pid, classify(pid)).first;
            if (found->second.of == Orphan::Of::unknown) ++unknown_;
        }
        if (!doomed(found->second)) continue;
        process::signal_tree(pid, SIGKILL);
        killed = true;
    }
    const Instant end = instant_now();
    not_before_ = end + 50 * (end - begin);
    return killed;
}

std::vector<pid_t> Leftovers::orphans_of(const RunningTask& task) const {
    std::vector<pid_t> pids;
    for (const auto& [pid, orphan] : orphans_)
        if (orphan.of == Orphan::Of::task && orphan.serial == task.order.serial) pids.push_back(pid);
    return pids;
}

std::vector<pid_t> Leftovers::of(const RunningTask& task) const {
    std::vector<pid_t> pids = orphans_of(task);
    const std::size_t orphans = pids.size();
    for (std::size_t i = 0; i < orphans; ++i) {
        const std::vector<pid_t> below = process::descendants_of(pids[i]);
        pids.insert(pids.end(), below.begin(), below.end());
    }
    return pids;
}

}  // namespace wq::node::usage
