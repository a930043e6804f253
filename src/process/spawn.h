// Starts a process by the shortest way: one clone() that shares memory with us until the exec, with as few
// system calls in between as a task needs. posix_spawn() would make one for every signal there is.
//
// An exec takes as long as a short task. A caller that has more to start does not wait for it: so one thread
// keeps many cores busy.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "machine/cpu_mask.h"

namespace wq::process {

struct SpawnPlan {
    const char* file = nullptr;  // this and all else that is pointed to stays until the exec
    char* const* argv = nullptr;
    char* const* envp = nullptr;
    const char* out = nullptr;  // files that the child opens as descriptors 1 and 2; 0 is ours (/dev/null)
    const char* err = nullptr;
    const char* directory = nullptr;         // where it begins; nullptr: where we are
    int keep = -1;                           // one more descriptor that stays open, at its number
    const machine::CpuMask* mask = nullptr;  // nullptr: ours
    const rlimit* files = nullptr;           // RLIMIT_NOFILE to restore; nullptr: ours is right
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

// A stack for one child at a time that shares our memory, and the place where it tells what failed.
class ChildStack {
  public:
    ChildStack();
    ~ChildStack();
    ChildStack(const ChildStack&) = delete;
    ChildStack& operator=(const ChildStack&) = delete;

    // The child has neither executed its file nor ended: it still uses our memory.
    bool in_use() const;
    // Of a child that does not: pid -1 where it failed, with why; 0 where it executed its file.
    Spawned failure() const;
    void reaped();  // the child has ended
    void forget();  // there was none

    void* top() const { return top_; }
    void* base() const { return base_; }

  private:
    void* base_ = nullptr;
    void* top_ = nullptr;
};

// Of an error with which no process could be made: there may be room for one later.
bool is_shortage(int error);
inline constexpr const char* no_process =
    "no process can be forked: raise the limit of processes (ulimit -u) or free memory";

enum class Until : std::uint8_t { begun, executed };

// The child gets an empty signal mask (dispositions are ours: all default in a launcher) and dies with us.
// After Until::begun the child may still fail: `stack` tells. This is a wish: where it cannot be, the exec is
// waited for. All our signals must be blocked then, since a handler would run on our memory in the child.
//
// Into a control group it is begun by clone3(), which moves nobody and so locks no other fork out; error: the
// kernel, or a container's filter, knows no such thing.
Spawned spawn(const SpawnPlan& plan, ChildStack& stack, Until until = Until::executed);

}  // namespace wq::process
