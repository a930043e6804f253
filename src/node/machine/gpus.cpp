#include "node/machine/gpus.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "node/machine/gpu_drivers.h"

namespace wq::node::machine {

namespace {

struct Vendor {
    const char* name;
    const char* variable;
    std::vector<DriverGpu> (*listed)(const std::string& root);  // nullptr: no driver lists them
    const char* list;
};
constexpr std::array<Vendor, 3> vendors{
    Vendor{"NVIDIA", "CUDA_VISIBLE_DEVICES", nvidia_gpus, "/proc/driver/nvidia/gpus"},
    Vendor{"AMD", "ROCR_VISIBLE_DEVICES", amd_gpus, "/sys/class/kfd"},
    Vendor{"Intel", "ZE_AFFINITY_MASK", nullptr, "PCI"}};

// The device for a name: a number, or a UUID that may be abbreviated.
GpuDevice device_named(const std::string& name, const std::vector<DriverGpu>& listed, const char* vendor) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    // "0.1" is a tile of Intel's device 0.
    if (error == std::errc() && (end == name.data() + name.size() || *end == '.'))
        return number < listed.size() ? listed[number].device : GpuDevice{vendor, {}, -1};
    for (const DriverGpu& gpu : listed) {
        if (gpu.uuid.empty()) continue;
        // An older name of a MIG slice contains the GPU's: "MIG-GPU-8a3f.../1/0".
        if (gpu.uuid.starts_with(name) || name.find(gpu.uuid) != std::string::npos) return gpu.device;
    }
    return {vendor, {}, -1};
}

Gpus named(const Vendor& vendor, const std::string& variable, const char* text,
           const std::vector<DriverGpu>& listed) {
    Gpus gpus{visible_devices(text), variable, {}, variable};
    gpus.uuids_told =
        std::none_of(listed.begin(), listed.end(), [](const DriverGpu& gpu) { return gpu.uuid.empty(); });
    for (const std::string& name : gpus.names)
        gpus.devices.push_back(device_named(name, listed, vendor.name));
    return gpus;
}

// The listed GPUs that a variable names, in its order.
std::vector<DriverGpu> left_by(const char* text, const std::vector<DriverGpu>& listed, const Vendor& vendor) {
    if (text == nullptr) return listed;
    std::vector<DriverGpu> left;
    for (const std::string& name : visible_devices(text))
        left.push_back({device_named(name, listed, vendor.name), {}});
    return left;
}

// The GPUs that the environment names, among those that the vendor's driver lists.
template <class Listed>
std::optional<Gpus> named_by_environment(const GpuSources& sources, Listed&& listed) {
    const std::string variable = gpu_variable(sources.variable);
    if (variable.empty()) return std::nullopt;
    const auto* const found = std::find_if(vendors.begin(), vendors.end(),
                                           [&](const Vendor& each) { return each.variable == variable; });
    const bool hip = found == vendors.end();
    const Vendor& vendor = hip ? vendors[1] : *found;
    std::vector<DriverGpu> all = listed(vendor);
    if (hip) all = left_by(sources.variable(vendor.variable), all, vendor);
    return named(vendor, variable, sources.variable(variable.c_str()), all);
}

std::vector<DriverGpu> on_bus(const Layout& layout, const char* vendor) {
    std::vector<DriverGpu> found;
    for (const GpuDevice& device : layout.gpus)
        if (device.vendor == vendor) found.push_back({device, {}});
    return found;
}

Gpus all_of(const Vendor& vendor, const std::vector<DriverGpu>& listed, const char* source) {
    Gpus gpus{first_numbers(listed.size()), vendor.variable, {}, source};
    for (const DriverGpu& gpu : listed) gpus.devices.push_back(gpu.device);
    return gpus;
}

std::optional<int> node_by_sysfs(const std::string& pci, const Layout& layout, const std::string& root) {
    std::ifstream in(root + "/sys/bus/pci/devices/" + pci + "/numa_node");
    int os_index = -1;
    if (pci.empty() || !(in >> os_index) || os_index < 0) return std::nullopt;
    for (std::size_t node = 0; node < layout.nodes.size(); ++node)
        if (layout.nodes[node].os_index == os_index) return static_cast<int>(node);
    return std::nullopt;
}

// In containers the driver may be present without its list in /proc.
bool nvidia_hides_its_list(const std::string& root) {
    const auto there = [&](const char* path) { return access((root + path).c_str(), F_OK) == 0; };
    return !there(vendors[0].list) && there("/dev/nvidiactl");
}

// The command takes a second, or forever if a GPU hangs, so it comes last.
std::optional<Gpus> told_by_nvidia_smi(const GpuSources& sources) {
    if (!sources.ask || !nvidia_hides_its_list(sources.root)) return std::nullopt;
    const auto text = sources.ask({"nvidia-smi", "--query-gpu=pci.bus_id,uuid", "--format=csv,noheader"});
    if (!text) return std::nullopt;
    const std::vector<DriverGpu> listed = gpus_in_nvidia_smi(*text);
    if (listed.empty()) return std::nullopt;
    return all_of(vendors[0], listed, "nvidia-smi");
}

}  // namespace

Gpus find_gpus(const GpuSources& sources, bool& decided) {
    decided = true;
    const auto listed_by_driver = [&](const Vendor& vendor) {
        return vendor.listed != nullptr ? vendor.listed(sources.root) : std::vector<DriverGpu>{};
    };
    if (auto gpus = named_by_environment(sources, listed_by_driver)) {
        gpus->list_hidden = gpus->variable == vendors[0].variable && nvidia_hides_its_list(sources.root);
        return std::move(*gpus);
    }
    for (const Vendor& vendor : vendors) {
        if (vendor.listed == nullptr) continue;
        if (const auto listed = vendor.listed(sources.root); !listed.empty())
            return all_of(vendor, listed, vendor.list);
    }
    if (auto gpus = told_by_nvidia_smi(sources)) return std::move(*gpus);
    decided = false;
    return {};
}

Gpus gpus_of_layout(const GpuSources& sources, const Layout& layout) {
    const auto listed_on_bus = [&](const Vendor& vendor) { return on_bus(layout, vendor.name); };
    if (auto gpus = named_by_environment(sources, listed_on_bus)) return std::move(*gpus);
    for (const Vendor& vendor : vendors)
        if (const auto listed = on_bus(layout, vendor.name); !listed.empty())
            return all_of(vendor, listed, "PCI");
    return {};
}

void find_nodes(Gpus& gpus, const Layout& layout, const std::string& root) {
    for (GpuDevice& device : gpus.devices) {
        const auto same = [&](const GpuDevice& other) { return other.pci == device.pci; };
        const auto found = std::find_if(layout.gpus.begin(), layout.gpus.end(), same);
        if (found != layout.gpus.end() && found->node >= 0)
            device.node = found->node;
        else
            device.node = node_by_sysfs(device.pci, layout, root).value_or(-1);
    }
}

std::optional<std::string> absent_gpus(const Gpus& gpus) {
    // Intel's driver has no readable list.
    if (gpus.source != gpus.variable || gpus.variable == "ZE_AFFINITY_MASK" || gpus.list_hidden)
        return std::nullopt;
    for (std::size_t i = 0; i < gpus.names.size() && i < gpus.devices.size(); ++i) {
        const std::string& name = gpus.names[i];
        const bool number = name.find_first_not_of("0123456789") == std::string::npos;
        // No driver lists the UUIDs of GPU slices ("MIG-...") in a readable place.
        const bool uuid = gpus.uuids_told && name.starts_with("GPU-");
        if ((number || uuid) && gpus.devices[i].pci.empty())
            return gpus.variable + " names GPU " + name +
                   ", which no driver lists here, so tasks cannot use it; correct the "
                   "variable, or give --gpus 0";
    }
    return std::nullopt;
}

std::string gpu_variable(const std::function<const char*(const char*)>& variable) {
    for (const char* const name :
         {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"})
        if (variable(name) != nullptr) return name;
    return {};
}

std::vector<std::string> visible_devices(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view name = text.substr(0, comma);
        if (name == "-1" || name == "NoDevFiles" || name == "10000") break;
        if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
            names.emplace_back(name);
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
    }
    return names;
}

std::vector<std::string> first_numbers(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
    return names;
}

}  // namespace wq::node::machine
