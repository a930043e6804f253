// The part of TaskRunner that starts calls of Python functions, in processes that an interpreter forks.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "interpreters/python_call.h"
#include "launcher/task_runner.h"

namespace wq::launcher {

namespace {

Descriptor memory_with(std::string_view bytes) {
    Descriptor memory(memfd_create("arguments", MFD_CLOEXEC));
    for (std::size_t at = 0; memory.valid() && at < bytes.size();) {
        const ssize_t put = write(memory.get(), bytes.data() + at, bytes.size() - at);
        if (put <= 0) return Descriptor();
        at += static_cast<std::size_t>(put);
    }
    return memory;
}

// Entries of the environment that the interpreter does not have; a name alone is to be unset.
std::vector<std::string> environment_for(Lane& lane) {
    const process::Order& order = lane.order.order;
    const process::TaskFacts facts{order.task, order.attempt, order.give, lane.cores_list, lane.visible_gpus};
    EnvironmentChanges set;
    std::vector<std::string> unset;
    for (const auto& [name, value] : order.variables)
        if (value)
            set.emplace_back(name, value);
        else
            unset.push_back(name);
    std::vector<std::string> entries = lane.environment.differences(facts, set);
    entries.insert(entries.end(), unset.begin(), unset.end());
    return entries;
}

}  // namespace

void TaskRunner::start_python(Lane& lane) {
    const process::Order& order = lane.order.order;
    const auto call = interpreters::python_call(order.call->arguments);
    if (!call) return task_not_started(lane, {"these are not the arguments of a call of a Python function"});
    auto request = std::make_unique<interpreters::Request>();
    request->serial = lane.order.serial;
    request->directory = order.directory;
    request->environment = environment_for(lane);
    request->arguments = memory_with(order.call->arguments);
    lane.result.reset(memfd_create("result", MFD_CLOEXEC));
    request->result.reset(fcntl(lane.result.get(), F_DUPFD_CLOEXEC, 0));
    request->out.reset(open(lane.out.writer_path(), O_WRONLY | O_CLOEXEC));
    request->err.reset(open(lane.err.writer_path(), O_WRONLY | O_CLOEXEC));
    int go[2] = {-1, -1};
    if (pipe2(go, O_CLOEXEC) == 0) {
        request->go.reset(go[0]);
        lane.go_write.reset(go[1]);
    }
    if (!request->go.valid() || !request->err.valid() || !request->result.valid() ||
        !request->arguments.valid())
        return task_not_started(lane,
                                {std::string("no descriptor or memory for it: ") + strerror(errno), true});
    interpreters_.start(*call, std::move(request));
}

void TaskRunner::call_forked(std::uint64_t serial, pid_t pid) {
    auto* const task = lanes_.running().by_serial(serial);
    if (task == nullptr) return static_cast<void>(::kill(pid, SIGKILL));
    Lane& lane = Lanes::lane_of(*task);
    setpgid(pid, pid);
    if (const machine::CpuMask& mask = accounts_.mask(lane.holding); mask.bytes() != 0) mask.apply_to(pid);
    lane.pid = pid;
    watch_.prepare(lane);
    if (lane.group && !lane.group->take(pid)) lane.group.reset();
    task_started(lane);
    // Written only after the launcher knows its process, because a call may end at once.
    if (write(lane.go_write.get(), "g", 1) != 1) ::kill(pid, SIGKILL);
    lane.go_write.reset();
}

void TaskRunner::call_refused(std::uint64_t serial, std::string reason, bool may_pass) {
    auto* const task = lanes_.running().by_serial(serial);
    if (task != nullptr) task_not_started(Lanes::lane_of(*task), {std::move(reason), may_pass});
}

}  // namespace wq::launcher
