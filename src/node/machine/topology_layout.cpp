#include "node/machine/topology_layout.h"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>

#include "base/units.h"

namespace wq::node::machine {

namespace {

// The groups of one kind in the order found: equal sets of cores are one group.
class Groups {
  public:
    int index(hwloc_const_bitmap_t cpuset) {
        for (std::size_t i = 0; i < sets_.size(); ++i)
            if (hwloc_bitmap_isequal(sets_[i], cpuset)) return static_cast<int>(i);
        sets_.push_back(cpuset);
        return static_cast<int>(sets_.size()) - 1;
    }
    int holding(hwloc_const_bitmap_t cpuset) const {
        for (std::size_t i = 0; i < sets_.size(); ++i)
            if (hwloc_bitmap_intersects(sets_[i], cpuset)) return static_cast<int>(i);
        return -1;
    }

  private:
    std::vector<hwloc_const_bitmap_t> sets_;
};

Groups read_nodes(hwloc_topology_t topology, Layout& layout) {
    Groups groups;
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
        if (hwloc_bitmap_iszero(node->cpuset)) continue;  // memory of a GPU, or of a device
        const auto index = static_cast<std::size_t>(groups.index(node->cpuset));
        if (index == layout.nodes.size()) layout.nodes.push_back({static_cast<int>(node->os_index), 0});
        layout.nodes[index].memory_mb +=
            static_cast<std::int64_t>(node->attr->numanode.local_memory) / bytes_per_mb;
    }
    return groups;
}

// The largest cache that the core shares with others.
hwloc_obj_t shared_cache(hwloc_obj_t core) {
    hwloc_obj_t found = nullptr;
    for (hwloc_obj_t above = core->parent; above != nullptr; above = above->parent)
        if (hwloc_obj_type_is_dcache(above->type) && !hwloc_bitmap_isequal(above->cpuset, core->cpuset))
            found = above;
    return found;
}

hwloc_obj_t package_of(hwloc_topology_t topology, hwloc_obj_t core) {
    return hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
}

// Display controllers of other makers are no GPUs, nor are Intel's integrated ones.
const char* gpu_vendor(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& device) {
    const unsigned base = device.class_id >> 8;
    const bool display = base == 0x03;
    const bool accelerator = base == 0x12;
    if (device.vendor_id == 0x10de && display) return "NVIDIA";
    if (device.vendor_id == 0x1002 && (display || accelerator)) return "AMD";
    if (device.vendor_id == 0x8086 && device.class_id == 0x0380) return "Intel";
    return nullptr;
}

void read_gpus(hwloc_topology_t topology, const Groups& nodes, Layout& layout) {
    for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology, device)) != nullptr;) {
        const auto& pci = device->attr->pcidev;
        const char* vendor = gpu_vendor(pci);
        if (vendor == nullptr) continue;
        std::array<char, 32> address;
        std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.%x", static_cast<unsigned>(pci.domain),
                      static_cast<unsigned>(pci.bus), static_cast<unsigned>(pci.dev),
                      static_cast<unsigned>(pci.func));
        const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
        // A device attached to a package with several nodes is near to none in particular.
        int node = nodes.holding(near->cpuset);
        if (node >= 0)
            for (const LayoutCore& core : layout.cores)
                if (hwloc_bitmap_isset(near->cpuset, static_cast<unsigned>(core.pus.front())) &&
                    core.place.node != node)
                    node = -1;
        layout.gpus.push_back({vendor, address.data(), node});
    }
    std::sort(layout.gpus.begin(), layout.gpus.end(),
              [](const GpuDevice& one, const GpuDevice& other) { return one.pci < other.pci; });
}

void add_bits(CpuMask& mask, hwloc_const_bitmap_t bits) {
    for (int pu = hwloc_bitmap_first(bits); pu >= 0; pu = hwloc_bitmap_next(bits, pu)) mask.add(pu);
}

}  // namespace

TopologySource TopologySource::of_environment() {
    // Empty counts as unset, as in hwloc.
    if (const char* file = std::getenv("HWLOC_XMLFILE"); file != nullptr && *file != '\0')
        return {Kind::xml, file};
    if (const char* text = std::getenv("HWLOC_SYNTHETIC"); text != nullptr && *text != '\0')
        return {Kind::synthetic, text};
    return {};
}

std::string TopologySource::in_words() const {
    switch (kind) {
        case Kind::xml:
            return "HWLOC_XMLFILE " + text;
        case Kind::synthetic:
            return "HWLOC_SYNTHETIC " + text;
        default:
            return "this machine";
    }
}

Result<Topology> load_topology(const TopologySource& source) {
    hwloc_topology_t made = nullptr;
    const auto failed = [](const std::string& what) {
        return Error{ExitCode::unreachable, "cannot read the topology of this machine (hwloc): " + what};
    };
    if (hwloc_topology_init(&made) != 0) return failed(std::strerror(errno));
    Topology topology(made, hwloc_topology_destroy);
    // Also reads what is not granted, to tell the difference; and PCI devices, except those that need a
    // vendor's library, which may take a second.
    hwloc_topology_set_flags(made, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_type_filter(made, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    using Kind = TopologySource::Kind;
    bool taken = true;
    if (source.kind == Kind::xml) taken = hwloc_topology_set_xml(made, source.text.c_str()) == 0;
    if (source.kind == Kind::synthetic) taken = hwloc_topology_set_synthetic(made, source.text.c_str()) == 0;
    const bool loaded = taken && hwloc_topology_load(made) == 0;
    if (loaded) return topology;
    if (source.kind == Kind::this_machine) return failed(std::strerror(errno));
    return Error{
        ExitCode::bad_input,
        std::string(source.kind == Kind::xml ? "HWLOC_XMLFILE: " : "HWLOC_SYNTHETIC: ") +
            quote_for_message(source.text) +
            (source.kind == Kind::xml
                 ? " is no topology that hwloc can read; make one with `lstopo FILE.xml`, or unset it"
                 : " describes no topology; set it to, for example, `package:2 core:32 pu:2`, or unset it")};
}

LayoutFound read_layout(hwloc_topology_t topology) {
    LayoutFound found;
    Layout& layout = found.layout;
    found.this_machine = hwloc_topology_is_thissystem(topology) != 0;
    add_bits(found.granted, hwloc_topology_get_allowed_cpuset(topology));
    layout.memory_mb = static_cast<std::int64_t>(hwloc_get_root_obj(topology)->total_memory) / bytes_per_mb;

    const Groups nodes = read_nodes(topology, layout);
    Groups packages;
    // A cache that spans several nodes, or packages, counts as one in each.
    std::map<std::tuple<int, int, hwloc_obj_t>, int> caches;
    // Some virtual machines report no cores, only PUs.
    const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
    const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int package_count = 0;
    bool unknown_node = false;
    for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr;) {
        LayoutCore one;
        for (int pu = hwloc_bitmap_first(core->cpuset); pu >= 0; pu = hwloc_bitmap_next(core->cpuset, pu))
            one.pus.push_back(pu);
        if (one.pus.empty()) continue;
        if (const hwloc_obj_t package = package_of(topology, core))
            one.place.package = packages.index(package->cpuset);
        package_count = std::max(package_count, one.place.package + 1);
        one.place.node = nodes.holding(core->cpuset);
        if (one.place.node < 0) {
            one.place.node = static_cast<int>(layout.nodes.size());
            unknown_node = true;
        }
        const hwloc_obj_t cache = shared_cache(core);
        if (cache != nullptr) layout.cache_name = "L" + std::to_string(cache->attr->cache.depth);
        const auto key = std::make_tuple(one.place.package, one.place.node, cache);
        one.place.cache = caches.try_emplace(key, static_cast<int>(caches.size())).first->second;
        layout.cores.push_back(std::move(one));
    }
    // Cores of an unknown node form a group without memory.
    if (unknown_node || layout.nodes.empty()) layout.nodes.push_back({-1, 0});
    layout.packages = std::max(package_count, 1);
    layout.caches = std::max(static_cast<int>(caches.size()), 1);
    read_gpus(topology, nodes, layout);
    return found;
}

}  // namespace wq::node::machine
