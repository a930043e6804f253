#include "node/launcher/task_starter.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/read_write.h"
#include "node/process/fork_server.h"
#include "node/process/functions.h"

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

namespace {

// At the start of the memory, written last.
struct Header {
    std::uint64_t mark = 0;
    std::int32_t ending = 0;
    std::int32_t exit_code = 0;
    // Of what follows: the result; or the reason and, after a NUL, the result of a function that raised, if
    // any.
    std::uint64_t bytes = 0;
};
constexpr std::uint64_t whole_mark = 0x57515f43414c4c31;
constexpr int result_place = 3;

bool write_end(int fd, const process::CallEnd& end) {
    const std::string& bytes = end.ending == engine::model::Ending::exited ? end.result : end.reason;
    const Header header{whole_mark, static_cast<std::int32_t>(end.ending), end.exit_code, bytes.size()};
    return write_all_at(fd, bytes, sizeof header) &&
           write_all_at(fd, {reinterpret_cast<const char*>(&header), sizeof header}, 0);
}

// Returns nullopt if the result is incomplete, or was overwritten by the function.
std::optional<Header> read_header(int fd) {
    Header header;
    struct stat file {};
    if (pread(fd, &header, sizeof header, 0) != sizeof header || header.mark != whole_mark ||
        header.bytes > process::most_result_bytes || fstat(fd, &file) != 0 ||
        static_cast<std::uint64_t>(file.st_size) < sizeof header + header.bytes)
        return std::nullopt;
    return header;
}

std::optional<process::CallEnd> read_end(int fd) {
    const auto header = read_header(fd);
    if (!header) return std::nullopt;
    std::string bytes(header->bytes, '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t got =
            pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(sizeof(Header) + at));
        if (got <= 0) return std::nullopt;
        at += static_cast<std::size_t>(got);
    }
    process::CallEnd end;
    const auto ending = static_cast<engine::model::Ending>(header->ending);
    if (ending == engine::model::Ending::exited) {
        end.result = std::move(bytes);
        return end;
    }
    end.ending = ending == engine::model::Ending::not_started ? ending : engine::model::Ending::raised;
    end.exit_code = header->exit_code;
    if (const std::size_t reason = bytes.find('\0'); reason != std::string::npos) {
        end.result = bytes.substr(reason + 1);
        bytes.resize(reason);
    }
    end.reason = std::move(bytes);
    return end;
}

}  // namespace

const process::FunctionTable* CallStarter::table_of(const std::string& name) const {
    for (const process::FunctionTable* table : {&built_in_, functions_})
        if (table != nullptr && table->find(name) != nullptr) return table;
    return nullptr;
}

TaskStarter::Result CallStarter::start(Lane& lane, const machine::CpuMask& mask, char* const* envp) {
    const std::string& name = lane.order.order.call->function;
    if (table_of(name) == nullptr) {
        process::CallEnd end =
            process::no_such_function(functions_ == nullptr ? process::FunctionTable{} : *functions_, name);
        lane.outcome.ending = end.ending;
        lane.outcome.exit_code = end.exit_code;
        lane.outcome.started_us = 0;
        lane.outcome.reason = std::move(end.reason);
        return TaskStarter::Result::impossible;
    }
    lane.pid = 0;
    lane.result.reset(memfd_create("result", MFD_CLOEXEC));
    if (!lane.result.valid())
        return TaskStarter::put_off(lane, std::string("no descriptor for its result: ") + strerror(errno));
    const pid_t pid = fork();
    if (pid < 0) return TaskStarter::put_off(lane, process::shortage(EAGAIN));
    if (pid == 0) child_main(lane, mask, envp);
    lane.pid = pid;
    setpgid(pid, pid);  // also done in the child; either may be first
    return TaskStarter::Result::started;
}

void CallStarter::child_main(const Lane& lane, const machine::CpuMask& mask, char* const* envp) const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (lane.group) lane.group->join();  // else the call is watched without a group
    const process::Call& call = *lane.order.order.call;
    prctl(PR_SET_NAME, call.function.c_str());
    if (mask.bytes() != 0) mask.apply_to(0);
    const int out = open(lane.out.writer_path(), O_WRONLY | O_CLOEXEC);
    const int err = open(lane.err.writer_path(), O_WRONLY | O_CLOEXEC);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(engine::model::exit_cannot_execute);
    // The launcher's own descriptors must not outlive the launcher in this process.
    if (lane.result.get() != result_place) dup2(lane.result.get(), result_place);
    fcntl(result_place, F_SETFD, FD_CLOEXEC);
    close_from(result_place + 1);
    if (files_ != nullptr) setrlimit(RLIMIT_NOFILE, files_);  // earlier, nothing more could be opened
    environ = const_cast<char**>(envp);
    process::leave_fork_server();

    const std::string& directory = lane.order.order.directory;
    const bool entered = directory.empty() || chdir(directory.c_str()) == 0;
    process::CallEnd end = entered ? process::run_call(*table_of(call.function), call)
                                   : process::CallEnd{engine::model::Ending::not_started,
                                                      engine::model::exit_cannot_execute,
                                                      "cannot enter '" + directory + "': " + strerror(errno),
                                                      {}};
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    if (!write_end(result_place, end)) {
        end = {engine::model::Ending::raised,
               0,
               std::string("its result cannot be kept: ") + strerror(errno),
               {}};
        static_cast<void>(ftruncate(result_place, 0) == 0 && write_end(result_place, end));
    }
    // Not exit(): the program's exit handlers must not run in this process.
    _exit(0);
}

bool CallStarter::has_result(const Lane& lane) {
    return lane.result.valid() && read_header(lane.result.get()).has_value();
}

std::string CallStarter::take_result(Lane& lane) {
    const Descriptor memory = std::move(lane.result);
    engine::model::Outcome& outcome = lane.outcome;
    if (!outcome.succeeded()) return {};
    auto end = read_end(memory.get());
    if (!end) {
        outcome.ending = engine::model::Ending::raised;
        outcome.reason = "its process ended with exit 0 before the function returned";
        return {};
    }
    outcome.ending = end->ending;
    if (outcome.ending == engine::model::Ending::not_started)
        outcome.started_us = 0;  // the function did not begin
    outcome.exit_code = end->exit_code;
    outcome.reason = std::move(end->reason);
    return std::move(end->result);
}

}  // namespace wq::node::launcher
