#include "node/launcher/python_calls.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "node/calls/python_call.h"
#include "node/launcher/task_starter.h"

namespace wq::node::launcher {

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

void PythonCalls::start(Lane& lane, const std::string& cores) {
    const process::Order& order = lane.order.order;
    const auto call = calls::python_call(order.call->arguments);
    if (!call)
        return listener_.task_not_started(lane,
                                          {"these are not the arguments of a call of a Python function"});
    auto request = std::make_unique<calls::Request>();
    request->serial = lane.order.serial;
    request->fresh = order.sets_variables;
    // What is measured must be its own. And where listing orphans is costly, ended tasks' process groups are
    // killed.
    request->shared = call->direct && leftovers_.cheap() && !request->fresh && !order.watch.measures &&
                      !order.watch.limited();
    request->directory = order.directory;
    request->environment = environment_for(lane);
    request->arguments = memory_with(order.call->arguments);
    request->size = order.call->arguments.size();
    request->cores = cores;
    if (lane.group) request->group = lane.group->path() + "/cgroup.procs";
    lane.result.reset(memfd_create("result", MFD_CLOEXEC));
    request->result.reset(fcntl(lane.result.get(), F_DUPFD_CLOEXEC, 0));
    request->out.reset(open(lane.out.writer_path(), O_WRONLY | O_CLOEXEC));
    request->err.reset(open(lane.err.writer_path(), O_WRONLY | O_CLOEXEC));
    if (!request->err.valid() || !request->out.valid() || !request->result.valid() ||
        !request->arguments.valid())
        return listener_.task_not_started(
            lane, {std::string("no descriptor or memory for it: ") + strerror(errno), true});
    interpreters_.start(*call, std::move(request));
}

void PythonCalls::abandon(const Lane& lane) {
    const std::uint64_t serial = lane.order.serial;
    if (interpreters_.withdraw(serial)) call_refused(serial, "it was killed", calls::Refusal::may_pass);
}

void PythonCalls::ready(process::PollSource source, std::size_t number) {
    if (source == process::PollSource::interpreter)
        interpreters_.ready(number);
    else
        interpreters_.process_ready(number);
}

Lane* PythonCalls::lane_of(std::uint64_t serial) const {
    return static_cast<Lane*>(running_.by_serial(serial));
}

void PythonCalls::call_given(std::uint64_t serial, pid_t pid) {
    Lane* const lane = lane_of(serial);
    if (lane == nullptr) return static_cast<void>(::kill(-pid, SIGKILL));
    lane->pid = pid;
    listener_.task_started(*lane);
}

void PythonCalls::call_taken_back(std::uint64_t serial) {
    Lane* const lane = lane_of(serial);
    if (lane == nullptr) return;
    lane->pid = 0;
    lane->has_next_action = false;
    listener_.task_taken_back(*lane);
}

void PythonCalls::call_refused(std::uint64_t serial, std::string reason, calls::Refusal kind) {
    if (Lane* const lane = lane_of(serial))
        listener_.task_not_started(*lane, {std::move(reason), kind == calls::Refusal::may_pass});
}

void PythonCalls::call_ended(std::uint64_t serial, const calls::PythonCallEnd& end) {
    if (Lane* const lane = lane_of(serial)) listener_.call_ended(*lane, end.status, end.usage);
}

// If the interpreter had waited for the process, nobody knows how it ended.
void PythonCalls::call_orphaned(std::uint64_t serial, pid_t pid) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0) return;
    Lane* const lane = lane_of(serial);
    if (lane == nullptr) return;
    listener_.call_ended(*lane, CallStarter::has_result(*lane) ? 0 : SIGKILL, {});
}

}  // namespace wq::node::launcher
