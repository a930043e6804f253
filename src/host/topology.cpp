#include "host/topology.h"

#include <hwloc.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "host/control_group.h"

namespace wq::host {

namespace {

using Topology = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;

Error unreadable(const char* what) {
    return {ExitCode::unreachable, std::string("cannot read the topology of this machine (hwloc): ") + what};
}

Topology make_topology() {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) topology = nullptr;
    return {topology, hwloc_topology_destroy};
}

// The cores in logical order. By default hwloc keeps to the control group, but not to the affinity mask,
// which is the caller's to say: it is the union of several processes'.
std::vector<std::vector<int>> usable_cores(hwloc_topology_t topology, const CpuMask& allowed) {
    // A machine that does not tell its cores (some virtual ones) has PUs only.
    const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
    const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    std::vector<std::vector<int>> cores;
    for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr;) {
        std::vector<int> pus;
        for (int pu = hwloc_bitmap_first(core->cpuset); pu >= 0; pu = hwloc_bitmap_next(core->cpuset, pu))
            if (allowed.contains(pu)) pus.push_back(pu);
        if (!pus.empty()) cores.push_back(std::move(pus));
    }
    return cores;
}

std::size_t all_cores(hwloc_topology_t topology) {
    const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    return static_cast<std::size_t>(std::max(cores, 0));
}

// GPUs that only a management library knows, which hwloc's plugins ask.
Gpus library_gpus(hwloc_topology_t topology) {
    struct Kind {
        const char* subtype;
        const char* variable;
    };
    for (const Kind kind : {Kind{"CUDA", "CUDA_VISIBLE_DEVICES"}, Kind{"NVML", "CUDA_VISIBLE_DEVICES"},
                            Kind{"RSMI", "ROCR_VISIBLE_DEVICES"}, Kind{"LevelZero", "ZE_AFFINITY_MASK"}}) {
        std::size_t count = 0;
        for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device)) != nullptr;)
            if (device->subtype != nullptr && std::strcmp(device->subtype, kind.subtype) == 0) ++count;
        if (count > 0) return {first_numbers(count), kind.variable};
    }
    return {};
}

std::int64_t memory_mb(hwloc_topology_t topology) {
    constexpr std::int64_t mb = 1 << 20;
    std::int64_t bytes = static_cast<std::int64_t>(hwloc_get_root_obj(topology)->total_memory);
    if (bytes == 0) bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return std::min(bytes, memory_limit().value_or(bytes)) / mb;
}

Result<Machine> with_cores(hwloc_topology_t topology, const CpuMask& allowed) {
    Machine machine;
    machine.cores = usable_cores(topology, allowed);
    machine.cores_of_machine = std::max(all_cores(topology), machine.cores.size());
    if (machine.cores.empty()) return unreadable("no core that the affinity mask allows exists");
    return machine;
}

}  // namespace

Result<Machine> discover(const CpuMask& allowed) {
    const Topology topology = make_topology();
    if (!topology) return unreadable(std::strerror(errno));
    bool gpus_decided = false;
    Gpus gpus =
        find_gpus({"", [](const char* name) -> const char* { return std::getenv(name); }}, gpus_decided);
    // Devices are asked for only when needed: a driver's library may take a second to answer.
    if (!gpus_decided)
        hwloc_topology_set_type_filter(topology.get(), HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology.get()) != 0) return unreadable(std::strerror(errno));
    auto machine = with_cores(topology.get(), allowed);
    if (!machine) return machine;
    Machine result = std::move(machine).or_throw();
    result.memory_mb = memory_mb(topology.get());
    result.gpus = gpus_decided ? std::move(gpus) : library_gpus(topology.get());
    result.cpu_quota = cpu_quota();
    return result;
}

Result<Machine> discover_synthetic(const std::string& description, const CpuMask& allowed) {
    const Topology topology = make_topology();
    if (!topology || hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0 ||
        hwloc_topology_load(topology.get()) != 0)
        return unreadable("no such synthetic topology");
    auto machine = with_cores(topology.get(), allowed);
    if (!machine) return machine;
    Machine result = std::move(machine).or_throw();
    result.memory_mb = static_cast<std::int64_t>(hwloc_get_root_obj(topology.get())->total_memory >> 20);
    return result;
}

std::int64_t free_disk_mb(const std::string& folder) {
    struct statvfs info {};
    if (statvfs(folder.c_str(), &info) != 0) return 0;
    return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize) >> 20;
}

}  // namespace wq::host
