// The structure of a machine, as a value: cores and their positions, memory nodes, GPUs. Filled from hwloc
// (topology.h), but independent of it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wq::node::machine {

// The groups of a core, each numbered from 0 over the whole machine. A machine without packages, NUMA nodes
// or shared caches has one group of that kind.
struct CoreGroups {
    int package = 0;
    int node = 0;
    int cache = 0;  // the largest cache shared by several cores of a node, usually the third level's
    auto operator<=>(const CoreGroups&) const = default;
};
template <class V>
void fields(CoreGroups& place, V& visit) {
    visit(place.package, place.node, place.cache);
}

struct LayoutCore {
    CoreGroups place;
    std::vector<int> pus;  // OS indexes of all its hardware threads, ascending
};

struct MemoryNode {
    int os_index = 0;
    std::int64_t memory_mb = 0;  // including that of other nodes with the same cores (such as HBM beside
                                 // DRAM)
};

struct GpuDevice {
    std::string vendor;  // "NVIDIA", "AMD", "Intel"
    std::string pci;     // "0000:01:00.0"
    int node = -1;       // index into Layout::nodes; -1: unknown, or equally near to all
};

struct Layout {
    std::vector<LayoutCore> cores;  // in topological order: neighbours share caches and memory
    std::vector<MemoryNode> nodes;  // indexed by CoreGroups::node
    int packages = 1;
    int caches = 1;
    std::string cache_name;       // "L3"; empty: no shared cache
    std::vector<GpuDevice> gpus;  // on the PCI bus, by address
    std::int64_t memory_mb = 0;

    std::size_t threads() const {
        std::size_t count = 0;
        for (const LayoutCore& core : cores) count += core.pus.size();
        return count;
    }
};

// The part of a machine that one rank's tasks may use.

// What a task is bound to: nothing, its cores, or all cores of the slice on the NUMA nodes of its cores.
enum class Binding : std::uint8_t { none, core, node };
constexpr Binding last_of(Binding) {
    return Binding::node;
}

struct NodeSlice {
    std::vector<std::vector<int>> cores;  // for each core the OS indexes of its PUs, in topological order
    std::vector<CoreGroups> places;       // of each core; empty: only the number of cores is known
    std::vector<std::string> gpus;        // the value for *_VISIBLE_DEVICES of each
    std::vector<int> gpu_nodes;           // the nearest CoreGroups::node of each; -1: unknown
    std::string gpu_variable;             // "CUDA_VISIBLE_DEVICES" or "ROCR_VISIBLE_DEVICES"; empty: no GPUs
    std::int64_t memory_mb = 0;
    std::int64_t disk_mb = 0;
    Binding bind = Binding::core;  // none: tasks may use all cores of the slice
    bool of_this_machine = true;   // false: its units belong to a machine that is only described
};
template <class V>
void fields(NodeSlice& slice, V& visit) {
    visit(slice.cores, slice.places, slice.gpus, slice.gpu_nodes, slice.gpu_variable, slice.memory_mb,
          slice.disk_mb, slice.bind, slice.of_this_machine);
}

}  // namespace wq::node::machine
