// Starts a process in the fastest way: one clone() that shares our memory until the exec, with few system
// calls in between. posix_spawn() would make one system call per signal.
//
// An exec takes as long as a short task, and the caller need not wait for it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "node/machine/cpu_mask.h"

namespace wq::node::process {

struct SpawnPlan {
    const char* file = nullptr;  // all that is pointed to must stay valid until the exec
    char* const* argv = nullptr;
    char* const* envp = nullptr;
    // The child opens these as descriptors 1 and 2; nullptr: ours.
    const char* out = nullptr;
    const char* err = nullptr;
    int in = -1;                      // becomes descriptor 0; -1: ours (/dev/null in a launcher)
    const char* directory = nullptr;  // working directory; nullptr: ours
    int keep = -1;                    // one more descriptor that stays open, with the same number
    bool only_standard = false;  // no other descriptor stays open, whatever libraries have opened (Linux 5.9)
    const machine::CpuMask* mask = nullptr;  // nullptr: ours
    const rlimit* files = nullptr;           // RLIMIT_NOFILE to restore; nullptr: ours is right
    // A process group, not a session: if the kernel schedules by session (autogroup), each new session costs
    // memory per CPU.
    bool own_group = true;
    pid_t group = 0;  // the group if it is not its own; 0: ours
    bool dies_with_us = true;
    int control_group = -1;  // folder of a cgroup v2 to start in; -1: ours
};

struct Spawned {
    pid_t pid = -1;             // -1: nothing was started
    int error = 0;              // errno of what failed
    bool at_exec = false;       // the exec failed, not the fork
    bool at_directory = false;  // the directory could not be entered
};

// A stack for one child at a time that shares our memory, and the place where the child reports failures.
class ChildStack {
  public:
    ChildStack();
    ~ChildStack();
    ChildStack(const ChildStack&) = delete;
    ChildStack& operator=(const ChildStack&) = delete;

    // Whether the child has neither executed its file nor ended, and so still uses our memory.
    bool in_use() const;
    // For a child that no longer does: pid -1 and the error if it failed; 0 if it executed its file.
    Spawned failure() const;
    void reaped();  // the child has ended
    void forget();  // there was no child

    void* top() const { return top_; }
    void* base() const { return base_; }

  private:
    void* base_ = nullptr;
    void* top_ = nullptr;
};

// For an error that means that a resource is short: which one, and the remedy. A later attempt may succeed.
// nullptr: any other error.
const char* shortage(int error);

enum class Until : std::uint8_t { begun, executed };

// The child gets an empty signal mask (dispositions are ours: all default in a launcher) and dies with us,
// unless the plan says otherwise. After Until::begun the child may still fail; `stack` has the error. Where
// Until::begun is not possible, spawn() waits for the exec. With it, all our signals must be blocked, because
// a handler would run on our memory in the child.
//
// clone3() starts the child directly in a control group, which moves no process and so blocks no other fork.
// Error: the kernel, or a container's filter, does not support it.
Spawned spawn(const SpawnPlan& plan, ChildStack& stack, Until until = Until::executed);

}  // namespace wq::node::process
