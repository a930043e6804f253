// What a machine is made of, as a value: its cores and where they stand, memory nodes, GPUs. Filled from
// hwloc (topology.h); nothing here knows where it came from.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wq::host {

// The groups that a core stands in, each counted from 0 over the whole machine. A machine without packages,
// NUMA nodes or shared caches has one group of that kind.
struct Place {
    int package = 0;
    int node = 0;
    int cache = 0;  // the largest cache that several cores share within a node: the third level's, as a rule
    auto operator<=>(const Place&) const = default;
};

struct LayoutCore {
    Place place;
    std::vector<int> pus;  // OS indexes of all its hardware threads, ascending
};

struct MemoryNode {
    int os_index = 0;
    std::int64_t memory_mb = 0;  // with that of other nodes of the same cores (as HBM beside DRAM)
};

struct GpuDevice {
    std::string vendor;  // "NVIDIA", "AMD", "Intel"
    std::string pci;     // "0000:01:00.0"
    int node = -1;       // index into Layout::nodes; -1: unknown, or equally far from all
};

struct Layout {
    std::vector<LayoutCore> cores;  // in topological order: neighbours share caches and memory
    std::vector<MemoryNode> nodes;  // Place::node is an index into these
    int packages = 1;
    int caches = 1;
    std::string cache_name;       // "L3"; empty: no cache is shared
    std::vector<GpuDevice> gpus;  // on the PCI bus, in the order of their addresses
    std::int64_t memory_mb = 0;

    std::size_t threads() const {
        std::size_t count = 0;
        for (const LayoutCore& core : cores) count += core.pus.size();
        return count;
    }
};

}  // namespace wq::host
