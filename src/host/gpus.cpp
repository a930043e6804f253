#include "host/gpus.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace wq::host {

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

// One folder a GPU of NVIDIA's; a job's control group may deny the device all the same.
std::size_t count_nvidia(const std::string& root) {
    const std::size_t listed = names_in(root + "/proc/driver/nvidia/gpus").size();
    std::size_t usable = 0;
    for (std::size_t i = 0; i < listed; ++i)
        if (access((root + "/dev/nvidia" + std::to_string(i)).c_str(), R_OK | W_OK) == 0) ++usable;
    return usable;
}

// AMD's driver lists processors and GPUs alike; only GPUs have SIMD units.
std::size_t count_amd(const std::string& root) {
    const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes";
    std::size_t count = 0;
    for (const std::string& node : names_in(nodes)) {
        std::ifstream properties(nodes + "/" + node + "/properties");
        std::string name;
        for (unsigned long value = 0; properties >> name >> value;)
            if (name == "simd_count" && value > 0) ++count;
    }
    return count;
}

}  // namespace

Gpus find_gpus(const GpuSources& sources, bool& decided) {
    decided = true;
    for (const char* variable : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"})
        if (const char* text = sources.variable(variable)) return {visible_devices(text), variable};
    if (const std::size_t count = count_nvidia(sources.root))
        return {first_numbers(count), "CUDA_VISIBLE_DEVICES"};
    if (const std::size_t count = count_amd(sources.root))
        return {first_numbers(count), "ROCR_VISIBLE_DEVICES"};
    decided = false;
    return {};
}

std::vector<std::string> visible_devices(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view name = text.substr(0, comma);
        if (name == "-1" || name == "NoDevFiles") break;
        if (!name.empty()) names.emplace_back(name);
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

}  // namespace wq::host
