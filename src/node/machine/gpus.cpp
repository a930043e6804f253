#include "node/machine/gpus.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"

namespace wq::node::machine {

namespace {

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
        names.push_back(entry->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

// "GPU UUID: \t GPU-8a3f" -> "GPU-8a3f"
std::string value_of(const std::string& line) {
    const std::size_t colon = line.find(':');
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (colon == std::string::npos || begin == std::string::npos) return {};
    return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

}  // namespace

// One folder per GPU, named by its bus address.
std::vector<DriverGpu> nvidia_gpus(const std::string& root) {
    std::vector<DriverGpu> found;
    int next = 0;
    for (const std::string& pci : names_in(root + "/proc/driver/nvidia/gpus")) {
        DriverGpu gpu{{"NVIDIA", pci, -1}, {}};
        std::string minor = std::to_string(next++);
        std::ifstream information(root + "/proc/driver/nvidia/gpus/" + pci + "/information");
        for (std::string line; std::getline(information, line);) {
            if (line.starts_with("GPU UUID")) gpu.uuid = value_of(line);
            if (line.starts_with("Device Minor")) minor = value_of(line);
        }
        if (access((root + "/dev/nvidia" + minor).c_str(), R_OK | W_OK) == 0) found.push_back(std::move(gpu));
    }
    return found;
}

// "00000000:01:00.0, GPU-8a3f..." per line; elsewhere the domain has four digits.
std::vector<DriverGpu> gpus_in_nvidia_smi(std::string_view text) {
    std::vector<DriverGpu> found;
    while (!text.empty()) {
        const std::string line(next_line(text));
        const std::size_t comma = line.find(", ");
        if (comma == std::string::npos) continue;
        std::string pci = line.substr(0, comma);
        std::transform(pci.begin(), pci.end(), pci.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (pci.find(':') == 8) pci.erase(0, 4);
        found.push_back({{"NVIDIA", pci, -1}, line.substr(comma + 2)});
    }
    return found;
}

// The driver lists processors and GPUs together; only GPUs have SIMD units.
std::vector<DriverGpu> amd_gpus(const std::string& root) {
    const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes";
    std::vector<std::string> names = names_in(nodes);
    // "10" comes after "9".
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& one, const auto& other) { return one.size() < other.size(); });
    std::vector<DriverGpu> found;
    for (const std::string& node : names) {
        std::ifstream properties(nodes + "/" + node + "/properties");
        std::map<std::string, unsigned long long> values;
        std::string name;
        for (unsigned long long value = 0; properties >> name >> value;) values[name] = value;
        if (values["simd_count"] == 0) continue;
        DriverGpu gpu{{"AMD", {}, -1}, {}};
        if (values.contains("location_id")) {
            const unsigned place = static_cast<unsigned>(values["location_id"]);
            std::array<char, 48> address;
            std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.%x",
                          static_cast<unsigned>(values["domain"]), (place >> 8) & 0xffU, (place >> 3) & 0x1fU,
                          place & 7U);
            gpu.device.pci = address.data();
        }
        if (values["unique_id"] != 0) {
            std::array<char, 32> uuid;
            std::snprintf(uuid.data(), uuid.size(), "GPU-%016llx", values["unique_id"]);
            gpu.uuid = uuid.data();
        }
        found.push_back(std::move(gpu));
    }
    return found;
}

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
