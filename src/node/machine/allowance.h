// What this process may use of its machine, as far as that can change while it runs and is cheap to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wq::node::machine {

// The limits of this process's control group, version 1 or 2, read from its files.

// Where the files are; tests use their own folder.
struct ControlGroupRoots {
    std::string membership = "/proc/self/cgroup";
    std::string mount = "/sys/fs/cgroup";
};

// The smallest memory limit from our group up to the root, in bytes; nullopt: unlimited.
std::optional<std::int64_t> memory_limit(const ControlGroupRoots& roots = {});

// How much more memory our groups allow, in bytes: less what they use, except the page cache that the kernel
// would drop first. nullopt: unlimited.
std::optional<std::int64_t> memory_left(const ControlGroupRoots& roots = {});

// The smallest CPU quota, in cores (1.5: one and a half); nullopt: no quota.
std::optional<double> cpu_quota(const ControlGroupRoots& roots = {});

// The same with the group that sets it: "cgroup v2 memory.max /slurm/job1", "cgroup v1 cpu quota 1.5 /job".
struct GroupLimit {
    double amount = 0;  // bytes or cores
    std::string source;
};
std::optional<GroupLimit> memory_limit_of_group(const ControlGroupRoots& roots = {});
std::optional<GroupLimit> cpu_quota_of_group(const ControlGroupRoots& roots = {});

// "cgroup v2 cpuset /a/b": the group that restricts the usable units; version 1 takes precedence, since each
// controller is in only one of them.
std::string cpuset_group(const ControlGroupRoots& roots = {});

// Our group of version 2; nullopt: there is none, or its folder is not visible.
struct OwnGroup {
    std::string folder;
    std::string name;      // "/a/b"
    bool is_root = false;  // of the visible hierarchy
};
std::optional<OwnGroup> own_group(const ControlGroupRoots& roots = {});

// Files with a line "oom_kill N"; /proc/vmstat if our group has no readable one.
std::vector<std::string> oom_event_files(const ControlGroupRoots& roots = {});

// Where this process may create control groups.
//
// We may divide the root of the visible hierarchy, or a group that was delegated to us (systemd marks those
// with an extended attribute; otherwise a group that we own in a folder that we do not own).

// Subgroup of a divided group for the processes that were in it before.
inline constexpr std::string_view group_of_processes = "work_queue_own";

// The control group in which this process may create groups, and the limits on this process.
struct GroupRights {
    std::string folder;     // the group that we divide; empty: no groups
    bool memory = false;    // the memory controller is available there
    bool may_move = false;  // moves the group's processes into a subgroup, if the controller requires it
    std::string why;        // why there is no group or no memory controller, with the remedy
};
GroupRights group_rights(const ControlGroupRoots& roots = {});

// "by the kernel where possible, in cgroup v2 below /a", or the alternative and its reason.
std::string how_memory_is_held(const GroupRights& rights);

// Whether the text of a kernel's file contains a word.
bool has_word(const std::string& text, std::string_view word);

struct Allowance {
    std::size_t threads = 0;                // in its affinity mask, which a cpuset may reduce
    std::optional<double> cpu_quota;        // cores
    std::optional<std::int64_t> memory_mb;  // limit of its control group

    static Allowance of_this_process(const ControlGroupRoots& roots = {});
};

// "its memory is limited to 2000 MB now, to 8000 MB before"; "": nothing was reduced.
std::string what_is_less(const Allowance& before, const Allowance& now);

}  // namespace wq::node::machine
