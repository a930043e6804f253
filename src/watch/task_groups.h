// Control groups (cgroup v2) for the tasks that are watched, below the launcher's own group where that is
// ours to divide: the kernel then counts a task's CPU time whole, kills its tree at once, and, where we are
// granted the memory controller, counts its memory once and holds it to its limit. Elsewhere /proc has to do.
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
#include "machine/group_rights.h"

namespace wq::watch {

// The group of one task.
class TaskGroup {
  public:
    // Error (not valid()): it cannot be made. `memory`: the memory controller is there.
    TaskGroup(std::string path, bool memory);

    bool valid() const { return folder_.valid(); }
    int descriptor() const { return folder_.get(); }  // to begin a process in it
    bool join() const;                                // this process enters it

    // From now on the kernel kills all of it where it needs more than so much.
    bool limit_memory(std::int64_t mb);
    // It does so, as far as is known: somebody was seen in it.
    bool holds_memory() const { return limit_mb_ > 0 && inhabited_; }
    // Why the kernel has killed any of it: for that limit, or for lack of memory further up.
    enum class Killed : std::uint8_t { not_at_all, at_its_limit, elsewhere };
    Killed killed_for_memory() const;

    // Of all that ever ran in it; nothing: not known, or nobody could enter.
    std::optional<std::int64_t> cpu_us() const;
    // What cannot be dropped of its memory: file pages in the cache are not among it.
    struct Memory {
        std::int64_t kb = 0;
        std::int64_t swapped_kb = 0;
    };
    std::optional<Memory> memory();

    void kill() const;                       // all that is in it
    void stop_asking() { folder_.reset(); }  // what it has is known: it keeps no descriptor
    bool remove() const;  // with groups that the task has made; false: something of it still lives
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

// All groups of a launcher, in a folder of its own. Nothing is made before the first is asked for.
class TaskGroups {
  public:
    explicit TaskGroups(machine::ControlGroupRoots roots = {}) : roots_(std::move(roots)) {}
    ~TaskGroups();
    TaskGroups(const TaskGroups&) = delete;
    TaskGroups& operator=(const TaskGroups&) = delete;

    // Null: none can be made, or so many could not be removed that no more are. The first may move this
    // process into another group.
    std::unique_ptr<TaskGroup> make(std::uint64_t serial);
    bool begun() const { return begun_; }
    void make_no_more() { stopped_ = true; }
    // Its task has ended: kills what there still is of it, and removes it now or later.
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

// After a launcher was killed and all that it had started is gone.
void remove_task_groups_of(pid_t launcher, const machine::ControlGroupRoots& roots = {});

}  // namespace wq::watch
