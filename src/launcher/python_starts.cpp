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
    Descriptor memory(memfd_create("arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING));
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
    // What is measured must be its own. And where listing orphans is costly, ended tasks' process groups are
    // killed.
    request->shared = call->direct && leftovers_.cheap() && !order.watch.measures && !order.watch.limited();
    request->directory = order.directory;
    request->environment = environment_for(lane);
    request->arguments = memory_with(order.call->arguments);
    request->size = order.call->arguments.size();
    lane.result.reset(memfd_create("result", MFD_CLOEXEC));
    request->result.reset(fcntl(lane.result.get(), F_DUPFD_CLOEXEC, 0));
    request->out.reset(open(lane.out.writer_path(), O_WRONLY | O_CLOEXEC));
    request->err.reset(open(lane.err.writer_path(), O_WRONLY | O_CLOEXEC));
    if (!request->err.valid() || !request->out.valid() || !request->result.valid() ||
        !request->arguments.valid())
        return task_not_started(lane,
                                {std::string("no descriptor or memory for it: ") + strerror(errno), true});
    if (accounts_.mask(lane.holding).bytes() != 0) request->cores = lane.cores_list;
    watch_.prepare(lane);
    if (lane.group) request->group = lane.group->path() + "/cgroup.procs";
    interpreters_.start(*call, std::move(request));
}

void TaskRunner::call_given(std::uint64_t serial, pid_t pid) {
    auto* const task = lanes_.running().by_serial(serial);
    if (task == nullptr) return static_cast<void>(::kill(-pid, SIGKILL));
    task->pid = pid;
    task_started(Lanes::lane_of(*task));
    // It was to be killed before it had a process.
    if (task->verdict != watch::Verdict::none) limits_.kill(*task, task->verdict, now_);
}

void TaskRunner::call_taken_back(std::uint64_t serial) {
    auto* const task = lanes_.running().by_serial(serial);
    if (task == nullptr) return;
    task->pid = 0;
    task->has_next_action = false;
    outputs_.ended(Lanes::lane_of(*task));
}

void TaskRunner::call_refused(std::uint64_t serial, std::string reason, bool may_pass) {
    auto* const task = lanes_.running().by_serial(serial);
    if (task != nullptr) task_not_started(Lanes::lane_of(*task), {std::move(reason), may_pass});
}

}  // namespace wq::launcher
