// Divides a node's cores, GPUs, memory and disk among its ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/machine/slice.h"
#include "node/machine/topology.h"

namespace wq::node::machine {

// Slice r is for the node's rank r. Cores are divided into runs of neighbours whose lengths differ by at most
// one; memory and disk follow the cores, GPUs are divided likewise. With more ranks than cores, every slice
// gets one core's worth of everything, unbound. Cores are also unbound if only their number is known
// (Machine::core_count), or if the machine is only a description. `ranks` is at least 1.
std::vector<Slice> divide(const Machine& machine, std::int64_t disk_mb, std::size_t ranks);

// All GPUs of the machine as this process names them, without their nodes: for other slices the same names
// mean other GPUs.
void take_all_gpus(Slice& slice, const Machine& machine);

// Applies the user's binding, if the slice's cores are its own, and limits each core to its first `threads`.
// nullopt: unchanged.
void bind_as(Slice& slice, std::optional<Binding> bind, std::optional<std::size_t> threads);

// Warnings before the run is slow: a binding that leaves most of the node idle, a CPU quota below the cores,
// more ranks than cores. One line each, with the remedy.
std::vector<std::string> warnings(const Machine& machine, std::size_t ranks);

}  // namespace wq::node::machine
