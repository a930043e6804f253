// A lane runs one task after the other, so that pipes, environment and temporary directory are created once
// per lane, not once per task.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "node/launcher/accounts.h"
#include "node/launcher/starters.h"
#include "node/process/capture.h"
#include "node/process/spawn.h"
#include "node/process/task_environment.h"
#include "node/usage/running_tasks.h"

namespace wq::node::launcher {

// What a task's process starts with. The process reads this memory until it has executed the file.
struct Execution {
    process::ChildStack stack;
    std::string file;
    std::vector<char*> argv;
    char* const* envp = nullptr;
    machine::CpuMask mask;
    enum class Try : std::uint8_t { first, searched_again, by_shell } attempt = Try::first;
};

struct Lane : usage::RunningTask {
    Lane(std::size_t number, const process::BaseEnvironment& base, const std::string& temporary,
         const std::string& gpu_variable, process::HostFiles& hosts)
        : usage::RunningTask(temporary), index(number), environment(base, temporary, gpu_variable, hosts) {}

    std::size_t index;
    process::Capture out;
    process::Capture err;
    process::TaskEnvironment environment;

    // Tells a subshell of the worker's shell to continue. It belongs to the lane, not the shell, because a
    // task that is killed before it reads its line would leave that line to the next task.
    Descriptor go_read;
    Descriptor go_write;

    // State of the running task.
    Execution execution;
    Starters::Index starter = Starters::loop;  // whose child it is
    bool executed = false;                     // its process is known to run its own program
    Holding holding;
    std::string cores_list;
    std::string visible_gpus;
    Descriptor result;               // memory that a call's process writes to
    std::uint64_t ended_before = 0;  // number of ended tasks when its start began
    bool announced = false;          // TaskStarted was reported
    bool watched = false;            // its pipes are in the epoll set
};

// All lanes of a launcher, used last in first out so that few stay warm.
class Lanes {
  public:
    Lanes(const process::BaseEnvironment& base, std::string scratch, std::string gpu_variable)
        : base_(base),
          scratch_(std::move(scratch)),
          gpu_variable_(std::move(gpu_variable)),
          hosts_(scratch_) {}

    Lane* acquire();           // nullptr, with errno set: no memory or descriptors
    void retire(Lane& lane);   // its task no longer runs
    void release(Lane& lane);  // ready for the next task
    Lane& at(std::size_t index) { return *all_[index]; }

    const usage::RunningTasks& running() const { return running_; }
    Lane* by_pid(pid_t pid) const { return static_cast<Lane*>(running_.by_pid(pid)); }
    Lane* by_task(TaskId task, Attempt attempt) const {
        return static_cast<Lane*>(running_.by_task(task, attempt));
    }
    static Lane& lane_of(usage::RunningTask& task) {
        return static_cast<Lane&>(task);
    }  // `task`: from running()

  private:
    const process::BaseEnvironment& base_;
    std::string scratch_;
    std::string gpu_variable_;
    process::HostFiles hosts_;
    std::vector<std::unique_ptr<Lane>> all_;
    std::vector<Lane*> idle_;
    usage::RunningTasks running_;
};

}  // namespace wq::node::launcher
