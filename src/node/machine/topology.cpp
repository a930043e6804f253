#include "node/machine/topology.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "node/machine/allowance.h"
#include "node/machine/asked_command.h"
#include "node/machine/topology_layout.h"

namespace wq::node::machine {

namespace {

Error unreadable(const std::string& what) {
    return {ExitCode::unreachable, "cannot read the topology of this machine (hwloc): " + what};
}

std::size_t cores_with(const Layout& layout, const CpuMask& mask) {
    return static_cast<std::size_t>(
        std::count_if(layout.cores.begin(), layout.cores.end(), [&](const LayoutCore& core) {
            return std::any_of(core.pus.begin(), core.pus.end(), [&](int pu) { return mask.contains(pu); });
        }));
}

void bound_cores(Machine& machine, std::size_t count, const std::string& source, BoundOf of = BoundOf::node) {
    machine.bounds.push_back({BoundKind::cores, static_cast<std::int64_t>(count), source, of, false, {}});
}

// A mask may exclude some threads of a core, or the whole core.
void take_cores(Machine& machine, const CpuMask& granted, const CpuMask& allowed) {
    for (std::size_t number = 0; number < machine.layout.cores.size(); ++number) {
        std::vector<int> pus;
        for (const int pu : machine.layout.cores[number].pus)
            if (granted.contains(pu) && allowed.contains(pu)) pus.push_back(pu);
        if (pus.empty()) continue;
        machine.cores.push_back(std::move(pus));
        machine.numbers.push_back(number);
    }
}

Result<Machine> with_cores(const LayoutFound& found, const CpuMask& allowed, const std::string& granted_by) {
    Machine machine;
    machine.layout = found.layout;
    machine.this_machine = found.this_machine;
    take_cores(machine, found.granted, allowed);
    machine.cores_of_machine = cores_with(found.layout, found.granted);
    if (machine.cores.empty()) return unreadable("the affinity mask allows no core of this machine");
    bound_cores(machine, found.layout.cores.size(), "machine");
    if (machine.cores_of_machine < found.layout.cores.size())
        bound_cores(machine, machine.cores_of_machine, granted_by);
    if (machine.cores.size() < machine.cores_of_machine)
        bound_cores(machine, machine.cores.size(), affinity_mask);
    machine.memory_mb = found.layout.memory_mb;
    machine.bounds.push_back({BoundKind::memory, machine.memory_mb, "machine", BoundOf::node, false, {}});
    return machine;
}

CpuMask all_of(const Layout& layout) {
    CpuMask all;
    for (const LayoutCore& core : layout.cores) all.add(core.pus);
    return all;
}

void ask_control_group(Machine& machine) {
    if (machine.memory_mb == 0)
        machine.memory_mb = sysconf(_SC_PHYS_PAGES) / 1024 * sysconf(_SC_PAGESIZE) / 1024;
    for (Bound& bound : machine.bounds)
        if (bound.kind == BoundKind::memory) bound.amount = machine.memory_mb;
    if (const auto limit = memory_limit_of_group()) {
        const auto limit_mb = static_cast<std::int64_t>(limit->amount) >> 20;
        if (limit_mb < machine.memory_mb)
            machine.bounds.push_back({BoundKind::memory, limit_mb, limit->source, BoundOf::node, false, {}});
        machine.memory_mb = std::min(machine.memory_mb, limit_mb);
    }
    const auto quota = cpu_quota_of_group();
    if (!quota) return;
    machine.cpu_quota = quota->amount;
    // Rounded up: otherwise a part of the granted time would never be used.
    const auto cores = static_cast<std::size_t>(std::clamp(std::ceil(quota->amount - 0.01), 1.0, 1e9));
    if (cores < machine.cores.size()) bound_cores(machine, cores, quota->source, BoundOf::process);
}

Gpus look_for_gpus(const Machine& machine, const std::function<const char*(const char*)>& variable) {
    constexpr Duration answer_limit = std::chrono::seconds(10);
    const GpuSources sources{"", variable, [&](const std::vector<std::string>& command) {
                                 return AskedCommand(command).answer(answer_limit);
                             }};
    if (!machine.this_machine) return gpus_of_layout(sources, machine.layout);
    bool decided = false;
    Gpus gpus = find_gpus(sources, decided);
    if (decided) return gpus;
    // Only Intel's driver keeps no list on this machine.
    Layout intel = machine.layout;
    std::erase_if(intel.gpus, [](const GpuDevice& device) { return device.vendor != "Intel"; });
    return gpus_of_layout(sources, intel);
}

void take_gpus(Machine& machine, Gpus gpus) {
    machine.gpus = std::move(gpus);
    find_nodes(machine.gpus, machine.layout, "");
    machine.bounds.push_back({BoundKind::gpus,
                              static_cast<std::int64_t>(machine.gpus.names.size()),
                              machine.gpus.source.empty() ? "machine" : machine.gpus.source,
                              BoundOf::node,
                              false,
                              {}});
}

Result<Machine> discover_without_gpus(const CpuMask& allowed) {
    const TopologySource source = TopologySource::of_environment();
    const auto topology = load_topology(source);
    if (!topology) return topology.error();
    const LayoutFound found = read_layout(topology->get());
    auto machine = found.this_machine ? with_cores(found, allowed, cpuset_group())
                                      : with_cores(found, all_of(found.layout), source.in_words());
    if (!machine) return machine;
    machine->origin = source.in_words();
    if (found.this_machine) ask_control_group(*machine);
    if (found.this_machine) machine->watch = how_memory_is_held(group_rights());
    return machine;
}

Result<Machine> discover_described(const TopologySource& source, const CpuMask& allowed) {
    const auto topology = load_topology(source);
    if (!topology) return topology.error();
    LayoutFound found = read_layout(topology->get());
    found.this_machine = true;
    return with_cores(found, allowed, source.in_words());
}

}  // namespace

Result<Machine> discover(const CpuMask& allowed) {
    return discover(allowed, [](const char* name) -> const char* { return std::getenv(name); });
}

Result<Machine> discover(const CpuMask& allowed, const std::function<const char*(const char*)>& variable) {
    auto machine = discover_without_gpus(allowed);
    if (machine) take_gpus(*machine, look_for_gpus(*machine, variable));
    return machine;
}

Result<Machine> discover_again(const CpuMask& allowed, const Gpus& gpus) {
    auto machine = discover_without_gpus(allowed);
    if (machine) take_gpus(*machine, gpus);
    return machine;
}

Result<Machine> discover_synthetic(const std::string& description, const CpuMask& allowed) {
    return discover_described({TopologySource::Kind::synthetic, description}, allowed);
}

Result<Machine> discover_file(const std::string& path, const CpuMask& allowed) {
    auto machine = discover_described({TopologySource::Kind::xml, path}, allowed);
    if (!machine) return machine;
    machine->gpus = gpus_of_layout({"", [](const char*) -> const char* { return nullptr; }}, machine->layout);
    return machine;
}

std::int64_t free_disk_mb(const std::string& folder) {
    struct statvfs info {};
    // One that does not exist will be created.
    std::filesystem::path place = std::filesystem::absolute(folder);
    while (statvfs(place.c_str(), &info) != 0) {
        if (errno != ENOENT || !place.has_relative_path()) return 0;
        place = place.parent_path();
    }
    return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize) >> 20;
}

}  // namespace wq::node::machine
