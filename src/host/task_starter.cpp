#include "host/task_starter.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace wq::host {

namespace {

// A word of a command line may have 128 KiB (MAX_ARG_STRLEN); a longer line goes to the shell as a file.
constexpr std::size_t longest_word = 120u << 10;

char* writable(const char* text) {
    return const_cast<char*>(text);
}  // execve promises not to write

// There may be room for it later.
bool is_for_now(int error) {
    return error == EAGAIN || error == ENOMEM;
}

// The kernel, or a container's filter, lets nobody begin in a group: what else fails concerns this group.
bool is_refused(int error) {
    constexpr std::array errors{ENOSYS, EINVAL, E2BIG, EPERM, EACCES, EOPNOTSUPP, EBUSY};
    return std::find(errors.begin(), errors.end(), error) != errors.end();
}

constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

}  // namespace

TaskStarter::Result TaskStarter::start(Lane& lane, const CpuMask& mask, char* const* envp) {
    return lane.order.order.argv.empty() ? start_line(lane, mask, envp) : start_words(lane, mask, envp);
}

PathLookup::Found TaskStarter::locate(const Lane& lane) {
    const std::string& name = lane.order.order.argv.front();
    for (const auto& [variable, value] : lane.order.order.variables)
        if (variable == "PATH") return PathLookup::search(value.value_or(""), name);
    return lookup_.find(name);
}

void TaskStarter::point_to(const std::vector<std::string>& words, std::size_t from) {
    for (std::size_t i = from; i < words.size(); ++i) argv_.push_back(writable(words[i].c_str()));
    argv_.push_back(nullptr);
}

TaskStarter::Result TaskStarter::start_words(Lane& lane, const CpuMask& mask, char* const* envp) {
    const std::vector<std::string>& words = lane.order.order.argv;
    PathLookup::Found found;
    for (int round = 0; round < 2; ++round) {
        found = locate(lane);
        if (found.file.empty()) break;
        argv_.clear();
        point_to(words, 0);
        const Result result = run(lane, mask, envp, found.file, -1);
        if (result != Result::impossible) return result;
        if (last_error_ == ENOEXEC) {  // a script without `#!`: as every shell does, the shell runs it
            argv_.assign({writable(shell_.c_str()), writable(found.file.c_str())});
            point_to(words, 1);
            return run(lane, mask, envp, shell_, -1);
        }
        if (last_error_ != ENOENT || words.front().find('/') != std::string::npos) return result;
        lookup_.forget(words.front());  // it was there when PATH was searched
    }
    if (found.denied) return refuse(lane, exit_not_executable, "'" + words.front() + "' may not be executed");
    return refuse(lane, exit_not_found, "'" + words.front() + "' is not in PATH");
}

TaskStarter::Result TaskStarter::start_line(Lane& lane, const CpuMask& mask, char* const* envp) {
    const std::string& text = lane.order.order.text;
    if (text.size() < longest_word) {
        argv_.assign({writable(shell_.c_str()), writable("-c"), writable(text.c_str()), nullptr});
        return run(lane, mask, envp, shell_, -1);
    }
    const Descriptor script(memfd_create("line", MFD_CLOEXEC));
    const bool written = write(script.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!written)
        return refuse(lane, exit_not_executable, std::string("no memory for the line: ") + strerror(errno));
    const std::string file = "/dev/fd/" + std::to_string(script.get());
    argv_.assign({writable(shell_.c_str()), writable(file.c_str()), nullptr});
    return run(lane, mask, envp, shell_, script.get());
}

TaskStarter::Result TaskStarter::run(Lane& lane, const CpuMask& mask, char* const* envp,
                                     const std::string& file, int keep) {
    SpawnPlan plan;
    plan.file = file.c_str();
    plan.argv = argv_.data();
    plan.envp = envp;
    plan.out = lane.out.writer_path();
    plan.err = lane.err.writer_path();
    if (!lane.order.order.directory.empty()) plan.directory = lane.order.order.directory.c_str();
    plan.keep = keep;
    plan.mask = mask.bytes() == 0 ? nullptr : &mask;
    plan.files = files_;
    if (lane.group) plan.control_group = lane.group->descriptor();
    Spawned child = spawn(plan, stack_);
    if (child.pid < 0 && lane.group && !child.at_exec && !child.at_directory && !is_for_now(child.error)) {
        const bool refused = is_refused(child.error);
        plan.control_group = -1;  // as if there were none: it is watched without
        child = spawn(plan, stack_);
        if (child.pid > 0 && refused) {
            lane.group->remove();
            lane.group.reset();
        }
    }
    lane.pid = child.pid;
    if (child.pid > 0) return Result::started;
    lane.pid = 0;
    last_error_ = child.error;
    if (!child.at_exec && is_for_now(child.error)) return Result::try_later;
    if (child.at_directory)
        return refuse(lane, exit_not_executable,
                      "cannot enter '" + lane.order.order.directory + "': " + strerror(child.error));
    return refuse(lane, child.error == ENOENT ? exit_not_found : exit_not_executable,
                  "cannot execute '" + file + "': " + strerror(child.error));
}

TaskStarter::Result TaskStarter::refuse(Lane& lane, int exit_code, std::string reason) const {
    lane.outcome.ending = core::Ending::not_started;
    lane.outcome.exit_code = exit_code;
    lane.outcome.reason = std::move(reason);
    return Result::impossible;
}

}  // namespace wq::host
