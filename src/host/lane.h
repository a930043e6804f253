// A lane runs one task after the other: its pipes, environment and temporary directory are made once.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/outcome.h"
#include "host/accounts.h"
#include "host/capture.h"
#include "host/launcher_wire.h"
#include "host/monitor.h"
#include "host/scratch.h"
#include "host/task_environment.h"
#include "host/task_groups.h"

namespace wq::host {

// Why a task is being ended by us, and how far that has come.
enum class Verdict : std::uint8_t { none, timed_out, out_of_memory, exhausted, killed };

struct Lane {
    Lane(std::size_t number, const BaseEnvironment& base, const std::string& temporary,
         const std::string& gpu_variable)
        : index(number), directory(temporary), environment(base, temporary, gpu_variable) {}

    std::size_t index;
    Capture out;
    Capture err;
    LaneDirectory directory;
    TaskEnvironment environment;

    // By which a subshell of the worker's shell is told to go on: of the lane, not of the shell, since a task
    // that is killed before it has read its line would leave it to the next.
    Descriptor go_read;
    Descriptor go_write;

    // The task that runs in it.
    OrderMessage order;
    Holding holding;
    std::string cores_list;
    std::string visible_gpus;
    Descriptor result;  // of a call: memory that its process writes to
    pid_t pid = 0;      // leader of its own process group; 0: none yet
    Instant started;
    core::Outcome outcome;  // filled as it becomes known
    Verdict verdict = Verdict::none;
    Instant next_deed;  // when the time is over, or when to kill what a SIGTERM did not end
    bool has_deed = false;
    bool announced = false;            // TaskStarted was reported
    bool watched = false;              // its pipes are in the epoll set
    std::unique_ptr<Monitor> monitor;  // null: what it takes is not looked at
    std::unique_ptr<TaskGroup> group;  // null: it has none of its own
};

// All lanes of a launcher, used last in first out so that few stay warm.
class Lanes {
  public:
    Lanes(const BaseEnvironment& base, std::string scratch, std::string gpu_variable)
        : base_(base), scratch_(std::move(scratch)), gpu_variable_(std::move(gpu_variable)) {}

    Lane* acquire();           // nullptr with errno set: no descriptors are left
    void retire(Lane& lane);   // no longer running
    void release(Lane& lane);  // ready for the next task
    Lane& at(std::size_t index) { return *all_[index]; }

    const std::vector<Lane*>& running() const { return running_; }
    Lane* by_pid(pid_t pid) const;  // also the process group of it and what it started
    Lane* by_task(TaskId task, Attempt attempt) const;
    Lane* by_serial(std::uint64_t serial) const;

  private:
    const BaseEnvironment& base_;
    std::string scratch_;
    std::string gpu_variable_;
    std::vector<std::unique_ptr<Lane>> all_;
    std::vector<Lane*> idle_;
    std::vector<Lane*> running_;
};

}  // namespace wq::host
