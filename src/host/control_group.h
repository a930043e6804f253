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

// Files with a line "oom_kill N"; /proc/vmstat when our group has none that can be read.
std::vector<std::string> oom_event_files(const ControlGroupRoots& roots = {});

}  // namespace wq::host
