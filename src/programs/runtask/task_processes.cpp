#include "programs/runtask/task_processes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "node/process/process_tree.h"
#include "programs/runtask/shell_text.h"

namespace wq::programs::runtask {

namespace {

std::vector<pid_t> children_of(pid_t pid) {
    node::process::ChildLists lists;
    lists.renew();
    std::vector<pid_t> found;
    lists.append(pid, true, found);
    return found;
}

std::vector<pid_t> own_children() {
    node::process::ChildLists lists;
    lists.renew();
    std::vector<pid_t> found;
    lists.append(::getpid(), false, found);
    return found;
}

std::set<pid_t> kill_tree(pid_t pid) {
    const std::vector<pid_t> below = node::process::descendants_of(pid);
    std::set<pid_t> all(below.begin(), below.end());
    all.insert(pid);
    for (const pid_t one : all) ::kill(one, SIGKILL);
    return all;
}

// A child that nobody has reaped yet.
bool is_dead(pid_t pid) {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == pid;
}

// Amid an exec a process has no environment; what else we have started has one.
bool may_be_of(pid_t pid, const char* variable, const std::string& value) {
    const auto known = node::process::environment_of(pid, variable);
    if (known) return *known == value;
    std::ifstream environment("/proc/" + std::to_string(pid) + "/environ");
    return environment.peek() == std::ifstream::traits_type::eof();
}

std::vector<pid_t> roots(pid_t host, pid_t shell) {
    std::vector<pid_t> found = children_of(host);
    std::ranges::copy(children_of(shell), std::back_inserter(found));
    std::erase(found, shell);
    return found;
}

bool catches(pid_t pid, int signal) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    const std::string name = "SigCgt:";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name))
            return (std::strtoull(line.c_str() + name.size(), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
}

// A shell says aloud that a child was killed, except by SIGPIPE.
int gentle_signal(pid_t pid) {
    return catches(pid, SIGTERM) ? SIGTERM : SIGPIPE;
}

}  // namespace

ForegroundProcesses::ForegroundProcesses(pid_t host, pid_t shell)
    : host_(host), shell_(shell), older_(roots(host, shell)) {
    std::ranges::sort(older_);
}

std::vector<pid_t> ForegroundProcesses::younger(std::vector<pid_t> pids) const {
    std::ranges::sort(pids);
    std::vector<pid_t> found;
    std::ranges::set_difference(pids, older_, std::back_inserter(found));
    return found;
}

bool ForegroundProcesses::runs() const {
    return !younger(children_of(shell_)).empty();
}

void ForegroundProcesses::kill(bool gently) const {
    for (const pid_t pid : younger(roots(host_, shell_))) {
        const std::vector<pid_t> below = node::process::descendants_of(pid);
        ::kill(pid, gently ? gentle_signal(pid) : SIGKILL);
        for (const pid_t other : below) ::kill(other, SIGKILL);
    }
}

bool BackgroundProcesses::runs() const {
    const std::vector<pid_t> children = children_of(host_);
    return std::ranges::find(children, task_) != children.end();
}

void BackgroundProcesses::kill(bool) const {
    for (const pid_t pid : children_of(host_))
        if (pid == task_ || node::process::environment_of(pid, task_key_variable) == key_)
            node::process::signal_tree(pid, SIGKILL);
}

void kill_services(pid_t host, const std::vector<pid_t>& tasks) {
    for (const pid_t pid : children_of(host)) {
        const bool of_task = std::ranges::find(tasks, pid) != tasks.end() ||
                             node::process::environment_of(pid, task_key_variable).has_value();
        if (!of_task) node::process::signal_tree(pid, SIGKILL);
    }
}

void kill_adopted(const char* variable, const std::string& value) {
    std::set<pid_t> killed;
    std::set<pid_t> dead;  // perhaps since the list was made: then it lacked their children
    for (bool again = true; again;) {
        again = false;
        for (const pid_t pid : own_children()) {
            if (is_dead(pid)) {
                again |= dead.insert(pid).second;
                if (killed.contains(pid)) ::waitpid(pid, nullptr, 0);
            } else if (may_be_of(pid, variable, value)) {
                killed.merge(kill_tree(pid));
                if (::kill(pid, SIGKILL) != 0) continue;  // it has another user's rights
                ::waitpid(pid, nullptr, 0);
                again = true;
            }
        }
    }
}

}  // namespace wq::programs::runtask
