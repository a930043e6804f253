// The GPUs listed by the kernel's drivers, in the order in which the vendor's libraries count them.
#pragma once

#include <functional>
#include <optional>
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

// The GPUs for tasks, as a *_VISIBLE_DEVICES variable names them: numbers, or a batch system's words
// ("GPU-8a3f...", "MIG-..."), which are only looked up, never interpreted.
struct Gpus {
    std::vector<std::string> names;
    std::string variable;            // names them to a task; empty: no GPUs
    std::vector<GpuDevice> devices;  // one per name; without an address if it is unknown
    std::string source;              // "CUDA_VISIBLE_DEVICES", "/proc/driver/nvidia/gpus", "PCI"
    bool uuids_told = false;         // by the driver, for all GPUs: any other UUID does not exist
    bool list_hidden = false;        // the driver is present without its list, as in containers
};

// Where to look for GPUs; tests replace the root folder.
struct GpuSources {
    std::string root;  // "" for /
    std::function<const char*(const char*)> variable;
    // The output of a command, if it exists and answers; empty: run no command.
    std::function<std::optional<std::string>(const std::vector<std::string>& command)> ask{};
};

// The GPUs that the environment offers (a batch system's share), else those that the drivers list. `decided`
// is set if one of them determined the result, even if it is "none".
Gpus find_gpus(const GpuSources& sources, bool& decided);

// The same for another machine: the GPUs that the environment offers, else all on the bus of the first vendor
// with any.
Gpus gpus_of_layout(const GpuSources& sources, const Layout& layout);

// Finds the nearest node of each device by its address; devices missing in the layout are looked up in sysfs.
void find_nodes(Gpus& gpus, const Layout& layout, const std::string& root);

// Names in the environment that match no device here, as far as known: a number beyond the driver's list, an
// unknown UUID, or any name without a driver; none if the driver is present without its list. One line, or
// nullopt.
std::optional<std::string> absent_gpus(const Gpus& gpus);

// The variable of the environment that names GPUs; empty: none. Of AMD's two, HIP's numbers count the devices
// that ROCR's leaves.
std::string gpu_variable(const std::function<const char*(const char*)>& variable);

// "0,2" -> {"0", "2"}; "", "-1", "NoDevFiles" (Slurm) and "10000" (HTCondor) mean none. Everything after a -1
// is hidden, as in CUDA. A repeated name is one device.
std::vector<std::string> visible_devices(std::string_view text);

std::vector<std::string> first_numbers(std::size_t count);  // "0", "1", ...

}  // namespace wq::node::machine
