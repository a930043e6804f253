// Which GPUs tasks may be given, as what a *_VISIBLE_DEVICES variable calls them: numbers, or whatever words
// a batch system put there ("GPU-8a3f...", "MIG-..."), which are never interpreted, only looked up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/layout.h"

namespace wq::host {

struct Gpus {
    std::vector<std::string> names;
    std::string variable;            // which names them to a task; empty: no GPUs
    std::vector<GpuDevice> devices;  // of each name; without an address where nothing tells it
    std::string source;              // "CUDA_VISIBLE_DEVICES", "/proc/driver/nvidia/gpus", "PCI"
    bool uuids_told = false;         // by the driver, of all that it lists: another UUID is nobody's
    bool list_hidden = false;        // the driver is there without its list, as in containers
};

// Where they are looked for; tests have a folder in place of the root.
struct GpuSources {
    std::string root;  // "" for /
    std::function<const char*(const char*)> variable;
    // What a command says, where it is there and answers; empty: none is asked.
    std::function<std::optional<std::string>(const std::vector<std::string>& command)> ask{};
};

// What the environment offers (a batch system's share), else what the drivers list. `decided` is set when one
// of them had a word in it, also when that word is "none".
Gpus find_gpus(const GpuSources& sources, bool& decided);

// The same for a machine that is not this one: what the environment offers, else all on the bus of the first
// vendor that has one there.
Gpus gpus_of_layout(const GpuSources& sources, const Layout& layout);

// Says for each device near which node it is, by its address; where the layout has no such device, as sysfs
// says.
void find_nodes(Gpus& gpus, const Layout& layout, const std::string& root);

// Names of the environment that no device here answers to, as far as that can be known: a number beyond what
// the driver lists, a UUID of none of these, or any where no driver is; nothing where the driver is there and
// its list is not. One line, or nothing.
std::optional<std::string> absent_gpus(const Gpus& gpus);

// The variable of the environment that names GPUs; empty: none does. Of AMD's two, one names devices of the
// runtime (HIP) among those that the other (ROCR) leaves it.
std::string gpu_variable(const std::function<const char*(const char*)>& variable);

// "0,2" -> {"0", "2"}; "", "-1" and "NoDevFiles" mean none. Everything after a -1 is hidden, as CUDA has it.
// What is named twice is one device.
std::vector<std::string> visible_devices(std::string_view text);

std::vector<std::string> first_numbers(std::size_t count);  // "0", "1", ...

}  // namespace wq::host
