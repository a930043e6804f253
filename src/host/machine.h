// A machine as a value: what is there, and what of it may be used and why no more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/bound.h"
#include "host/gpus.h"
#include "host/layout.h"

namespace wq::host {

struct Machine {
    // Per usable core the OS indexes of its usable PUs, in topological order: neighbours share caches and
    // memory.
    std::vector<std::vector<int>> cores;
    std::vector<std::size_t> numbers;  // of those: indexes into layout.cores
    std::size_t cores_of_machine = 0;  // that the control group leaves, whatever the affinity mask
    // So many of `cores` count, or more than there are, and nobody says which; nothing: all of them.
    std::optional<std::size_t> core_count;
    std::int64_t memory_mb = 0;  // the least of what is there and what the control group allows
    Gpus gpus;
    std::optional<double> cpu_quota;  // cores' worth of time that the control group grants

    Layout layout;
    std::string origin = "this machine";  // or "HWLOC_XMLFILE /path"
    bool this_machine = true;             // false: nothing can be bound to what is only described
    Bounds bounds;                     // of cores, memory and GPUs, with what is there as the first of each
    std::string watch;                 // how tasks are held to their memory there; empty: nothing runs there
    std::vector<std::string> remarks;  // what the user should know of it, one line each

    std::size_t threads() const {  // of the usable cores
        std::size_t count = 0;
        for (const std::vector<int>& core : cores) count += core.size();
        return count;
    }
    std::size_t cores_offered() const { return core_count.value_or(cores.size()); }
    // Where a core of `cores` stands.
    const Place& place(std::size_t core) const { return layout.cores[numbers[core]].place; }
};

}  // namespace wq::host
