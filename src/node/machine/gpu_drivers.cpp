#include "node/machine/gpu_drivers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/next_line.h"

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

}  // namespace wq::node::machine
