// The limits of this process's control group, version 1 or 2, read from its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wq::node::machine {

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

}  // namespace wq::node::machine
