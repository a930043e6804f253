// Divides a node's cores, GPUs, memory and disk among its ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "node/machine/layout.h"
#include "node/machine/machine.h"
#include "node/machine/topology.h"

namespace wq::node::machine {

// Slice r is for the node's rank r. Cores are divided into runs of neighbours whose lengths differ by at most
// one; memory and disk follow the cores, GPUs are divided likewise. With more ranks than cores, every slice
// gets one core's worth of everything, unbound. Cores are also unbound if only their number is known
// (Machine::core_count), or if the machine is only a description. `ranks` is at least 1.
std::vector<NodeSlice> divide(const Machine& machine, std::int64_t disk_mb, std::size_t ranks);

// All GPUs of the machine as this process names them, without their nodes: for other slices the same names
// mean other GPUs.
void take_all_gpus(NodeSlice& slice, const Machine& machine);

// Applies the user's binding, if the slice's cores are its own, and limits each core to its first `threads`.
// nullopt: unchanged.
void bind_as(NodeSlice& slice, std::optional<Binding> bind, std::optional<std::size_t> threads);

// Warnings before the run is slow: a binding that leaves most of the node idle, a CPU quota below the cores,
// more ranks than cores. One line each, with the remedy.
std::vector<std::string> warnings(const Machine& machine, std::size_t ranks);

// The GPUs of a node as the environments of its ranks name them: srun may give each rank different ones.
struct RankGpus {
    std::string variable;            // names them; empty: none does
    std::vector<std::string> names;  // as in Gpus
    // For a rank with its own GPUs from the batch system: its index among the node's ranks, as the batch
    // system counts.
    std::string bound_as{};
};

RankGpus gpus_of_rank(const std::function<const char*(const char*)>& variable);

struct NodeGpus {
    std::string variable{};            // empty: no rank's environment names any
    std::vector<std::string> names{};  // of all ranks, each once
    bool differ = false;               // no single environment has them all
    // The same numbers mean different GPUs for each rank, as when control groups hide the rest: no rank can
    // use those of another.
    bool of_each_rank = false;
};

NodeGpus gpus_of_node(const std::vector<RankGpus>& ranks);

// Reduces a machine to what may be offered.

// Adds `bounds` to the machine's and applies them: the smallest counts, or the one that decides. A core count
// that differs from the usable cores is only a number: core_count. GPUs beyond those found are numbered from
// 0. Memory is in MB; the machine has no disk. GPUs that are named but missing get a remark.
void restrict_to(Machine& machine, const Bounds& bounds);

// Those that apply to the node as a whole.
Bounds of_node(const Bounds& bounds);

// If fewer cores count than are usable, chooses those nearest together: for a user who says that nobody else
// uses them.
void choose_nearest(Machine& machine);

// Keeps at most the first `most` units of each core.
void leave_threads(Machine& machine, std::size_t most);

}  // namespace wq::node::machine
