// The GPUs listed by the kernel's drivers, in the order in which the vendor's libraries count them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/machine/layout.h"

namespace wq::node::machine {

struct DriverGpu {
    GpuDevice device;  // its node is unknown here
    std::string uuid;  // "GPU-8a3f..."; empty if the driver does not tell
};

// `root` is prepended to every path; "" for this machine. GPUs whose device file our control group denies are
// omitted, as in the vendor's library.
std::vector<DriverGpu> nvidia_gpus(const std::string& root);
std::vector<DriverGpu> amd_gpus(const std::string& root);
// Parses the output of `nvidia-smi --query-gpu=pci.bus_id,uuid --format=csv,noheader`.
std::vector<DriverGpu> gpus_in_nvidia_smi(std::string_view text);

}  // namespace wq::node::machine
