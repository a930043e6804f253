#include "runtask/task_processes.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "process/process_tree.h"
#include "runtask/shell_text.h"

namespace wq::runtask {

namespace {

std::vector<pid_t> children_of(pid_t pid) {
    process::ChildLists lists;
    lists.renew();
    std::vector<pid_t> found;
    lists.append(pid, true, found);
    return found;
}

pid_t process_of(const std::filesystem::path& folder) {
    const std::string name = folder.filename().string();
    pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    return problem == std::errc() && end == name.data() + name.size() ? pid : 0;
}

}  // namespace

void ForegroundProcesses::begin(pid_t host, pid_t shell) {
    host_ = host;
    shell_ = shell;
    older_ = roots();
}

std::vector<pid_t> ForegroundProcesses::roots() const {
    std::vector<pid_t> found = children_of(host_);
    std::ranges::copy(children_of(shell_), std::back_inserter(found));
    std::erase(found, shell_);
    std::ranges::sort(found);
    return found;
}

void ForegroundProcesses::kill(bool gently) const {
    std::vector<pid_t> own;
    std::ranges::set_difference(roots(), older_, std::back_inserter(own));
    for (const pid_t pid : own) {
        const std::vector<pid_t> below = process::descendants_of(pid);
        ::kill(pid, gently ? SIGTERM : SIGKILL);
        for (const pid_t other : below) ::kill(other, SIGKILL);
    }
}

void kill_background_task(pid_t host, pid_t task, const std::string& key) {
    process::signal_tree(task, SIGKILL);
    for (const pid_t pid : children_of(host))
        if (process::environment_of(pid, task_key_variable) == key) process::signal_tree(pid, SIGKILL);
}

void kill_services(pid_t host, const std::vector<pid_t>& tasks) {
    for (const pid_t pid : children_of(host)) {
        const bool of_task = std::ranges::find(tasks, pid) != tasks.end() ||
                             process::environment_of(pid, task_key_variable).has_value();
        if (!of_task) process::signal_tree(pid, SIGKILL);
    }
}

void kill_all_with(const char* variable, const std::string& value) {
    std::error_code problem;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", problem)) {
        const pid_t pid = process_of(entry.path());
        if (pid > 0 && pid != ::getpid() && process::environment_of(pid, variable) == value)
            ::kill(pid, SIGKILL);
    }
}

}  // namespace wq::runtask
