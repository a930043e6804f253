// What this machine has that we may use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "host/cpu_mask.h"
#include "host/machine.h"

namespace wq::host {

// `allowed`: the union of the affinity masks of the node's ranks. A core of which only some PUs are allowed
// counts, with those. Where HWLOC_XMLFILE or HWLOC_SYNTHETIC is set it is the machine described there, of
// which neither that mask nor our control group says anything (unless HWLOC_THISSYSTEM=1 says that it is this
// one). Error: the topology cannot be read, or no allowed PU exists.
Result<Machine> discover(const CpuMask& allowed);
// The same, where GPUs are named as `variable` says in place of the environment.
Result<Machine> discover(const CpuMask& allowed, const std::function<const char*(const char*)>& variable);

// The same with the GPUs that were found before: their driver, which may not answer, is not asked again.
Result<Machine> discover_again(const CpuMask& allowed, const Gpus& gpus);

// The same for a machine described in hwloc's synthetic syntax ("package:2 core:32 pu:2"), or by a file of
// its own format, of which the PUs of `allowed` may be used; without limits of ours.
Result<Machine> discover_synthetic(const std::string& description, const CpuMask& allowed);
Result<Machine> discover_file(const std::string& path, const CpuMask& allowed);

std::int64_t free_disk_mb(const std::string& folder);  // for us; 0 when the folder cannot be asked

}  // namespace wq::host
