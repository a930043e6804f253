// What the control group of this process allows, version 1 or 2, read from its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wq::host {

// Where the files are; tests point it at a folder of their own.
struct ControlGroupRoots {
    std::string membership = "/proc/self/cgroup";
    std::string mount = "/sys/fs/cgroup";
};

// The least memory limit from our group up to the root, in bytes; none: unlimited.
std::optional<std::int64_t> memory_limit(const ControlGroupRoots& roots = {});

// The least CPU quota, in cores (1.5: one and a half); none: no quota.
std::optional<double> cpu_quota(const ControlGroupRoots& roots = {});

// The same with the group that says so: "cgroup v2 memory.max /slurm/job1", "cgroup v1 cpu quota 1.5 /job".
struct GroupLimit {
    double amount = 0;  // bytes, or cores
    std::string source;
};
std::optional<GroupLimit> memory_limit_of_group(const ControlGroupRoots& roots = {});
std::optional<GroupLimit> cpu_quota_of_group(const ControlGroupRoots& roots = {});

// "cgroup v2 cpuset /a/b": the group that says which units may be used, whatever it says; of version 1 where
// both are there, since a controller is in one of them only.
std::string cpuset_group(const ControlGroupRoots& roots = {});

// Our group of version 2; nothing: there is none, or its folder cannot be seen.
struct OwnGroup {
    std::string folder;
    std::string name;      // "/a/b"
    bool is_root = false;  // of what we see of the hierarchy
};
std::optional<OwnGroup> own_group(const ControlGroupRoots& roots = {});

// Files with a line "oom_kill N"; /proc/vmstat when our group has none that can be read.
std::vector<std::string> oom_event_files(const ControlGroupRoots& roots = {});

}  // namespace wq::host
