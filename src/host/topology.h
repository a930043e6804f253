// What this machine has that we may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/cpu_mask.h"
#include "host/gpus.h"

namespace wq::host {

struct Machine {
    // Per usable core the OS indexes of its usable PUs, in topological order: neighbours share caches and
    // memory.
    std::vector<std::vector<int>> cores;
    std::size_t cores_of_machine = 0;  // that the control group leaves, whatever the affinity mask
    std::int64_t memory_mb = 0;        // the least of what is there and what the control group allows
    Gpus gpus;
    std::optional<double> cpu_quota;  // cores' worth of time that the control group grants
};

// `allowed`: the union of the affinity masks of the node's ranks. A core of which only some PUs are allowed
// counts, with those. Error: the topology cannot be read, or no allowed PU exists.
Result<Machine> discover(const CpuMask& allowed);

// The same for a machine described in hwloc's synthetic syntax ("package:2 core:32 pu:2"), without GPUs and
// limits.
Result<Machine> discover_synthetic(const std::string& description, const CpuMask& allowed);

std::int64_t free_disk_mb(const std::string& folder);  // for us; 0 when the folder cannot be asked

}  // namespace wq::host
