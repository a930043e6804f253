// Creates control groups (cgroup v2) for monitored tasks, below the launcher's own group, if we may divide
// that. The kernel then counts all of a task's CPU time and kills its tree at once. If we have the memory
// controller, it also counts the task's shared memory once and enforces its limit. Otherwise /proc is used.
//
// Source: Documentation/admin-guide/cgroup-v2.rst of Linux; "Control Group APIs and Delegation" of systemd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/time.h"
#include "node/machine/allowance.h"

namespace wq::node::usage {

// The group of one task.
class TaskGroup {
  public:
    // Not valid() if it cannot be created. `memory`: the memory controller is enabled.
    TaskGroup(std::string path, bool memory);

    bool valid() const { return folder_.valid(); }
    int descriptor() const { return folder_.get(); }  // to start a process in it
    bool join() const;                                // this process enters it
    bool take(pid_t pid) const;                       // that process enters it

    // From now on the kernel kills the whole group if it needs more than this.
    bool limit_memory(std::int64_t mb);
    // Whether the kernel enforces the limit: it is set, and a process was seen in the group.
    bool holds_memory() const { return limit_mb_ > 0 && inhabited_; }
    // Why the kernel has killed any of its processes: for that limit, or for lack of memory in a parent
    // group.
    enum class Killed : std::uint8_t { not_at_all, at_its_limit, elsewhere };
    Killed killed_for_memory() const;

    // CPU time of all that ever ran in it; nullopt if unknown, or no process could enter.
    std::optional<std::int64_t> cpu_us() const;
    // Its memory that cannot be dropped, so without file pages in the cache.
    struct Memory {
        std::int64_t kb = 0;
        std::int64_t swapped_kb = 0;
    };
    std::optional<Memory> memory();

    void kill() const;                       // all processes in it
    void stop_asking() { folder_.reset(); }  // closes its descriptor: no more queries
    bool remove() const;  // with groups that the task created; false if a process still lives in it
    void wait_until_empty(Instant until) const;
    const std::string& path() const { return path_; }

  private:
    std::string text_of(const char* file) const;
    bool write_to(const char* file, std::string_view text) const;

    std::string path_;
    Descriptor folder_;
    bool has_memory_;
    std::int64_t limit_mb_ = 0;
    bool inhabited_ = false;
};

// All groups of a launcher, in its own folder. Nothing is created before the first request.
class TaskGroups {
  public:
    explicit TaskGroups(machine::ControlGroupRoots roots = {}) : roots_(std::move(roots)) {}
    ~TaskGroups();
    TaskGroups(const TaskGroups&) = delete;
    TaskGroups& operator=(const TaskGroups&) = delete;

    // Null if none can be created, or too many old ones could not be removed. The first call may move this
    // process into another group.
    std::unique_ptr<TaskGroup> make(std::uint64_t serial);
    bool begun() const { return begun_; }
    void make_no_more() { stopped_ = true; }
    // Called after its task has ended: kills its remaining processes, and removes it now or later.
    void give_up(std::unique_ptr<TaskGroup> group);

  private:
    bool begin();
    void remove_ended();
    bool has_room();

    const machine::ControlGroupRoots roots_;
    bool begun_ = false;
    bool stopped_ = false;
    bool memory_ = false;
    bool kernel_keeps_too_many_ = false;
    std::uint64_t made_ = 0;
    std::string folder_;  // empty: there is none
    std::deque<std::unique_ptr<TaskGroup>> ended_;
};

// Called after a launcher was killed and all that it had started has ended.
void remove_task_groups_of(pid_t launcher, const machine::ControlGroupRoots& roots = {});

}  // namespace wq::node::usage
