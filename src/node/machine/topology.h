// The resources of this machine that this process may use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "node/machine/cpu_mask.h"
#include "node/machine/machine.h"

namespace wq::node::machine {

inline constexpr const char* affinity_mask = "affinity mask";  // the source of a bound

// `allowed`: the union of the affinity masks of the node's ranks. A core counts if any of its PUs is allowed,
// with those. If HWLOC_XMLFILE or HWLOC_SYNTHETIC is set, it is the described machine, to which neither the
// mask nor our control group applies (unless HWLOC_THISSYSTEM=1 says that it is this one). Error: the
// topology cannot be read, or no allowed PU exists.
Result<Machine> discover(const CpuMask& allowed);
// The same, with GPUs named by `variable` instead of the environment.
Result<Machine> discover(const CpuMask& allowed, const std::function<const char*(const char*)>& variable);

// The same with the GPUs found before: their driver, which may hang, is not queried again.
Result<Machine> discover_again(const CpuMask& allowed, const Gpus& gpus);

// The same for a machine described in hwloc's synthetic syntax ("package:2 core:32 pu:2") or by an hwloc XML
// file. Only the PUs of `allowed` are usable; our own limits do not apply.
Result<Machine> discover_synthetic(const std::string& description, const CpuMask& allowed);
Result<Machine> discover_file(const std::string& path, const CpuMask& allowed);

std::int64_t free_disk_mb(const std::string& folder);  // available to us; 0 if the folder cannot be queried

}  // namespace wq::node::machine
