// A machine as a value: what exists, which part of it may be used, and what limits that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node/machine/gpus.h"
#include "node/machine/layout.h"

namespace wq::node::machine {

// One reason why a worker offers no more: the amount and its source.
enum class BoundKind : std::uint8_t { cores, memory, disk, gpus };

// A node's bound is shared by the ranks on it.
enum class BoundOf : std::uint8_t { process, node };

struct Bound {
    BoundKind kind = BoundKind::cores;
    std::int64_t amount = 0;  // cores and GPUs: count; memory and disk: MB of 2^20 bytes
    std::string source;       // "affinity mask", "SLURM_CPUS_PER_TASK", "--cores"
    BoundOf of = BoundOf::process;
    // Set by the user: overrides the others.
    bool decides = false;
    std::vector<std::string> names = {};  // of GPUs, if the source names them
    bool operator==(const Bound&) const = default;
};

using Bounds = std::vector<Bound>;

// The effective one: the last that decides, else the first of the smallest; nullopt if none is of `kind`.
inline std::optional<Bound> binding_bound(const Bounds& bounds, BoundKind kind) {
    std::optional<Bound> best;
    for (const Bound& bound : bounds) {
        if (bound.kind != kind) continue;
        if (!best || bound.decides || (!best->decides && bound.amount < best->amount)) best = bound;
    }
    return best;
}

struct Machine {
    // For each usable core the OS indexes of its usable PUs, in topological order: neighbours share caches
    // and memory.
    std::vector<std::vector<int>> cores;
    std::vector<std::size_t> numbers;  // for each of `cores` its index in layout.cores
    std::size_t cores_of_machine = 0;  // in the control group, regardless of the affinity mask
    // The number of cores that count, if it differs from `cores` and nobody says which; nullopt: all of them.
    std::optional<std::size_t> core_count;
    std::int64_t memory_mb = 0;  // the smaller of installed memory and the control group's limit
    Gpus gpus;
    std::optional<double> cpu_quota;  // in cores, from the control group

    Layout layout;
    std::string origin = "this machine";  // or "HWLOC_XMLFILE /path"
    bool this_machine = true;             // false: only described, so nothing can be bound to it
    Bounds bounds;                        // of cores, memory and GPUs; the first of each is what exists
    std::string watch;                 // how memory limits of tasks are enforced there; empty: nothing runs
                                       // there
    std::vector<std::string> remarks;  // for the user, one line each

    std::size_t threads() const {  // of the usable cores
        std::size_t count = 0;
        for (const std::vector<int>& core : cores) count += core.size();
        return count;
    }
    std::size_t cores_offered() const { return core_count.value_or(cores.size()); }
    // The position of a core in `cores`.
    const CoreGroups& place(std::size_t core) const { return layout.cores[numbers[core]].place; }
};

}  // namespace wq::node::machine
