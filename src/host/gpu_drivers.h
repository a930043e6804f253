// The GPUs that the kernel's drivers list, in the order in which the vendor's libraries count them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/layout.h"

namespace wq::host {

struct DriverGpu {
    GpuDevice device;  // its node is not known here
    std::string uuid;  // "GPU-8a3f..."; empty: the driver does not tell
};

// `root` stands before every path; "" for the machine's own. Those whose device file a control group denies
// us are left out, as the library leaves them out.
std::vector<DriverGpu> nvidia_gpus(const std::string& root);
std::vector<DriverGpu> amd_gpus(const std::string& root);
// What `nvidia-smi --query-gpu=pci.bus_id,uuid --format=csv,noheader` said.
std::vector<DriverGpu> gpus_in_nvidia_smi(std::string_view text);

}  // namespace wq::host
