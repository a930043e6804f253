// Starts a process by the shortest way: one clone() that shares memory with us and suspends us until the
// exec, with as few system calls in between as a task needs. posix_spawn() would make one for every signal
// there is.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>

#include "host/cpu_mask.h"

namespace wq::host {

struct SpawnPlan {
    const char* file = nullptr;
    char* const* argv = nullptr;
    char* const* envp = nullptr;
    const char* out = nullptr;  // files that the child opens as descriptors 1 and 2; 0 is ours (/dev/null)
    const char* err = nullptr;
    const char* directory = nullptr;  // where it begins; nullptr: where we are
    int keep = -1;                    // one more descriptor that stays open, at its number
    const CpuMask* mask = nullptr;    // nullptr: ours
    const rlimit* files = nullptr;    // RLIMIT_NOFILE to restore; nullptr: ours is right
    // A process group, not a session: where the kernel groups processes by session for scheduling
    // (autogroup), a new one costs memory for every processor there is.
    bool own_group = true;
    int control_group = -1;  // folder of a cgroup v2 to begin in; -1: ours
};

struct Spawned {
    pid_t pid = -1;             // -1: nothing was started
    int error = 0;              // errno of what failed
    bool at_exec = false;       // the exec failed, not the fork
    bool at_directory = false;  // the directory cannot be entered
};

// A stack for children that share our memory, and a place where those that have a copy tell what failed.
class ChildStack {
  public:
    ChildStack();
    ~ChildStack();
    ChildStack(const ChildStack&) = delete;
    ChildStack& operator=(const ChildStack&) = delete;
    void* top() const { return top_; }
    void* base() const { return base_; }

  private:
    void* base_ = nullptr;
    void* top_ = nullptr;
};

// The child gets an empty signal mask (dispositions are ours: all default in a launcher) and dies with us.
// Into a control group it is begun by clone3(), which moves nobody and so locks no other fork out; error: the
// kernel, or a container's filter, knows no such thing.
Spawned spawn(const SpawnPlan& plan, const ChildStack& stack);

}  // namespace wq::host
