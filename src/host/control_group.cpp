#include "host/control_group.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string_view>

namespace wq::host {

namespace {

// Folders of our group from itself up to the root, for a controller of version 1 ("memory") or, with an empty
// name, of version 2. A container may show its group as the root of the mount: folders that are not there are
// passed over.
std::vector<std::string> folders(const ControlGroupRoots& roots, std::string_view controller) {
    std::vector<std::string> found;
    std::ifstream in(roots.membership);
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
        if (controller.empty() ? names != ",,"
                               : names.find("," + std::string(controller) + ",") == std::string::npos)
            continue;
        std::string base = roots.mount;
        if (!controller.empty()) {
            base += "/" + std::string(controller);
        } else if (access((base + "/unified").c_str(), R_OK) == 0) {
            base += "/unified";
        }
        std::string path = line.substr(second + 1);
        while (path.size() > 1) {
            found.push_back(base + path);
            path.resize(path.rfind('/'));
        }
        found.push_back(base);
    }
    return found;
}

std::optional<std::int64_t> number_in(const std::string& file) {
    std::ifstream in(file);
    std::int64_t value = 0;
    if (!(in >> value)) return std::nullopt;  // "max" is no number
    return value;
}

template <class T>
void lower(std::optional<T>& least, std::optional<T> value) {
    if (value && (!least || *value < *least)) least = value;
}

}  // namespace

std::optional<std::int64_t> memory_limit(const ControlGroupRoots& roots) {
    constexpr std::int64_t unlimited = std::int64_t{1} << 60;  // version 1 says "no limit" as a huge number
    std::optional<std::int64_t> least;
    for (const std::string& folder : folders(roots, "")) lower(least, number_in(folder + "/memory.max"));
    for (const std::string& folder : folders(roots, "memory"))
        lower(least, number_in(folder + "/memory.limit_in_bytes"));
    if (least && *least >= unlimited) least.reset();
    return least;
}

std::optional<double> cpu_quota(const ControlGroupRoots& roots) {
    std::optional<double> least;
    for (const std::string& folder : folders(roots, "")) {
        std::ifstream in(folder + "/cpu.max");
        double quota = 0;
        double period = 0;
        if (in >> quota >> period && period > 0) lower<double>(least, quota / period);
    }
    for (const std::string& folder : folders(roots, "cpu")) {
        const auto quota = number_in(folder + "/cpu.cfs_quota_us");
        const auto period = number_in(folder + "/cpu.cfs_period_us");
        if (quota && period && *quota > 0 && *period > 0)
            lower<double>(least, static_cast<double>(*quota) / static_cast<double>(*period));
    }
    return least;
}

std::vector<std::string> oom_event_files(const ControlGroupRoots& roots) {
    std::vector<std::string> files;
    for (const std::string& folder : folders(roots, "")) {
        const std::string file = folder + "/memory.events";
        if (access(file.c_str(), R_OK) == 0 && files.empty()) files.push_back(file);
    }
    for (const std::string& folder : folders(roots, "memory")) {
        const std::string file = folder + "/memory.oom_control";
        if (access(file.c_str(), R_OK) == 0 && files.empty()) files.push_back(file);
    }
    if (files.empty()) files.push_back("/proc/vmstat");
    return files;
}

}  // namespace wq::host
