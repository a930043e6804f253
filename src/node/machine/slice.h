// The part of a machine that one rank's tasks may use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/machine/layout.h"

namespace wq::node::machine {

// What a task is bound to: nothing, its cores, or all cores of the slice on the NUMA nodes of its cores.
enum class Binding : std::uint8_t { none, core, node };

struct Slice {
    std::vector<std::vector<int>> cores;  // for each core the OS indexes of its PUs, in topological order
    std::vector<Place> places;            // of each core; empty: only the number of cores is known
    std::vector<std::string> gpus;        // the value for *_VISIBLE_DEVICES of each
    std::vector<int> gpu_nodes;           // the nearest Place::node of each; -1: unknown
    std::string gpu_variable;             // "CUDA_VISIBLE_DEVICES" or "ROCR_VISIBLE_DEVICES"; empty: no GPUs
    std::int64_t memory_mb = 0;
    std::int64_t disk_mb = 0;
    Binding bind = Binding::core;  // none: tasks may use all cores of the slice
    bool of_this_machine = true;   // false: its units belong to a machine that is only described
};

}  // namespace wq::node::machine
