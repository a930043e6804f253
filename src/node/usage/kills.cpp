#include "node/usage/kills.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <utility>

#include "node/machine/allowance.h"

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

OomCounter::OomCounter() : OomCounter(machine::oom_event_files()) {}

OomCounter::OomCounter(std::vector<std::string> files) : files_(std::move(files)), last_(read()) {}

bool OomCounter::grew() {
    const std::uint64_t before = last_;
    last_ = read();
    return std::exchange(grew_before_, false) || last_ > before;
}

void OomCounter::go_over_to(std::vector<std::string> files) {
    grew_before_ = grew();
    files_ = std::move(files);
    last_ = read();
}

std::uint64_t OomCounter::read() const {
    std::uint64_t sum = 0;
    for (const std::string& file : files_) {
        std::ifstream in(file);
        std::string name;
        for (std::uint64_t value = 0; in >> name >> value;)
            if (name == "oom_kill") sum += value;
    }
    return sum;
}

namespace {
constexpr int highest = 1000;
constexpr int tasks_above_launcher = 300;
}  // namespace

void offer_launcher_as_oom_victim() {
    const Descriptor file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    if (file.valid() && write(file.get(), "500", 3) != 3) return;  // fails if already higher, which is fine
}

OomScore::OomScore() : proc_(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    int ours = highest;
    std::ifstream("/proc/self/oom_score_adj") >> ours;
    if (ours < highest) of_tasks_ = std::to_string(std::min(highest, ours + tasks_above_launcher));
}

void OomScore::offer(pid_t pid) const {
    if (of_tasks_.empty()) return;
    std::array<char, 40> path;
    std::snprintf(path.data(), path.size(), "%d/oom_score_adj", pid);
    const Descriptor file(openat(proc_.get(), path.data(), O_WRONLY | O_CLOEXEC));
    // A task that runs as another user keeps the inherited score.
    if (file.valid() && write(file.get(), of_tasks_.data(), of_tasks_.size()) < 0) return;
}

}  // namespace wq::node::usage
