#include "node/launcher/task_starter.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace wq::node::launcher {

namespace {

// An argument may have 128 KiB (MAX_ARG_STRLEN). A longer line is passed to the shell as a file.
constexpr std::size_t longest_word = 120u << 10;

char* writable(const char* text) {
    return const_cast<char*>(text);
}  // execve promises not to write

// Whether the kernel, or a container's filter, never lets a process start in a group. Other errors concern
// this group only.
bool is_refused(int error) {
    constexpr std::array errors{ENOSYS, EINVAL, E2BIG, EPERM, EACCES, EOPNOTSUPP, EBUSY};
    return std::find(errors.begin(), errors.end(), error) != errors.end();
}

}  // namespace

TaskStarter::Result TaskStarter::start(Lane& lane, const machine::CpuMask& mask, char* const* envp) {
    lane.execution.mask = mask;
    lane.execution.envp = envp;
    lane.execution.attempt = Execution::Try::first;
    const engine::model::Watch& watch = lane.order.order.watch;
    const auto until = watch.measures || watch.limited() ? process::Until::executed : process::Until::begun;
    return lane.order.order.argv.empty() ? start_line(lane, until) : start_words(lane, until);
}

process::PathLookup::Found TaskStarter::locate(const Lane& lane) {
    const process::Order& order = lane.order.order;
    const std::string& name = order.argv.front();
    for (const auto& [variable, value] : order.variables)
        if (variable == "PATH") return process::PathLookup::search(value.value_or(""), name, order.directory);
    return lookup_.find(name, order.directory);
}

void TaskStarter::point_to(Lane& lane, std::size_t from) {
    const std::vector<std::string>& words = lane.order.order.argv;
    std::vector<char*>& argv = lane.execution.argv;
    for (std::size_t i = from; i < words.size(); ++i) argv.push_back(writable(words[i].c_str()));
    argv.push_back(nullptr);
}

TaskStarter::Result TaskStarter::start_words(Lane& lane, process::Until until) {
    const process::PathLookup::Found found = locate(lane);
    if (found.file.empty()) {
        const std::string name = "'" + lane.order.order.argv.front() + "'";
        if (found.denied)
            return refuse(lane, engine::model::exit_cannot_execute, name + " may not be executed");
        return refuse(lane, engine::model::exit_not_found, name + " is not in PATH");
    }
    lane.execution.file = found.file;
    lane.execution.argv.clear();
    point_to(lane, 0);
    return run(lane, until);
}

TaskStarter::Result TaskStarter::start_line(Lane& lane, process::Until until) {
    const std::string& text = lane.order.order.text;
    Execution& execution = lane.execution;
    execution.attempt = Execution::Try::by_shell;
    execution.file = shell_;
    if (text.size() < longest_word) {
        execution.argv.assign(
            {writable(execution.file.c_str()), writable("-c"), writable(text.c_str()), nullptr});
        return run(lane, until);
    }
    const Descriptor script(memfd_create("line", MFD_CLOEXEC));
    if (!script.valid()) return put_off(lane, std::string("no descriptor for the line: ") + strerror(errno));
    const bool written = write(script.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!written) return put_off(lane, std::string("no memory for the line: ") + strerror(errno));
    std::string file = "/dev/fd/" + std::to_string(script.get());
    execution.argv.assign({writable(execution.file.c_str()), file.data(), nullptr});
    return run(lane, process::Until::executed, script.get());
}

TaskStarter::Result TaskStarter::run(Lane& lane, process::Until until, int keep) {
    Execution& execution = lane.execution;
    process::SpawnPlan plan;
    plan.file = execution.file.c_str();
    plan.argv = execution.argv.data();
    plan.envp = execution.envp;
    plan.out = lane.out.writer_path();
    plan.err = lane.err.writer_path();
    if (!lane.order.order.directory.empty()) plan.directory = lane.order.order.directory.c_str();
    plan.keep = keep;
    plan.mask = execution.mask.bytes() == 0 ? nullptr : &execution.mask;
    plan.files = files_;
    if (lane.group) plan.control_group = lane.group->descriptor();
    process::Spawned child = process::spawn(plan, execution.stack, until);
    if (child.pid < 0 && lane.group && !child.at_exec && !child.at_directory &&
        process::shortage(child.error) == nullptr) {
        const bool refused = is_refused(child.error);
        plan.control_group = -1;  // the task is watched without a group
        child = process::spawn(plan, execution.stack, until);
        if (child.pid > 0 && refused) {
            lane.group->remove();
            lane.group.reset();
        }
    }
    lane.pid = std::max(child.pid, 0);
    return child.pid > 0 ? Result::started : go_on(lane, child);
}

TaskStarter::Result TaskStarter::go_on(Lane& lane, const process::Spawned& failure) {
    lane.pid = 0;
    if (failure.at_directory)
        return give_up(lane, "cannot enter '" + lane.order.order.directory + "': " + strerror(failure.error));
    if (!failure.at_exec) {
        if (const char* const short_of = process::shortage(failure.error)) return put_off(lane, short_of);
        return give_up(lane, std::string("no process can be made: ") + strerror(failure.error));
    }
    Execution& execution = lane.execution;
    if (execution.attempt != Execution::Try::by_shell) {
        const std::string& name = lane.order.order.argv.front();
        if (failure.error == ENOEXEC) {  // a script without `#!`: run by the shell, as all shells do
            execution.attempt = Execution::Try::by_shell;
            const std::string script = std::exchange(execution.file, shell_);
            execution.argv.assign({writable(shell_.c_str()), writable(script.c_str())});
            point_to(lane, 1);
            return run(lane, process::Until::executed);
        }
        if (failure.error == ENOENT && name.find('/') == std::string::npos) {
            if (execution.attempt == Execution::Try::searched_again)
                return refuse(lane, engine::model::exit_not_found, "'" + name + "' is not in PATH");
            execution.attempt = Execution::Try::searched_again;
            lookup_.forget(name);  // it was found there earlier, and is gone
            return start_words(lane, process::Until::executed);
        }
    }
    return refuse(
        lane, failure.error == ENOENT ? engine::model::exit_not_found : engine::model::exit_cannot_execute,
        "cannot execute '" + execution.file + "': " + strerror(failure.error));
}

// For a task whose command was never tried.
TaskStarter::Result TaskStarter::give_up(Lane& lane, std::string reason) {
    lane.outcome.started_us = 0;
    return refuse(lane, engine::model::exit_cannot_execute, std::move(reason));
}

TaskStarter::Result TaskStarter::put_off(Lane& lane, std::string reason) {
    give_up(lane, std::move(reason));
    return Result::try_later;
}

TaskStarter::Result TaskStarter::refuse(Lane& lane, int exit_code, std::string reason) {
    engine::model::set_not_started(lane.outcome, std::move(reason), exit_code);
    return Result::impossible;
}

}  // namespace wq::node::launcher
