// A node's cores, GPUs, memory and disk over its ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/launcher.h"
#include "host/topology.h"

namespace wq::host {

// Slice r is for the node's rank r. Cores are cut into runs of neighbours whose lengths differ by one at
// most; memory and disk follow the cores, GPUs are cut likewise. With more ranks than cores every slice is
// one core's worth of all of them, not bound; nor are cores that are only a number (Machine::core_count), or
// of a machine that is only described. `ranks` is at least 1.
std::vector<Slice> divide(const Machine& machine, std::int64_t disk_mb, std::size_t ranks);

// All GPUs of the machine as its process names them, near no node that is known: other slices have others
// under the same names.
void take_all_gpus(Slice& slice, const Machine& machine);

// As the user says: bound otherwise, where the slice's cores are its own, and with the first `threads` of
// each core at most. Nothing: as it is.
void bind_as(Slice& slice, std::optional<Binding> bind, std::optional<std::size_t> threads);

// What the user should know before the run is slow: a binding that leaves most of the node idle, a CPU quota
// below the cores, more ranks than cores. One line each, with the remedy.
std::vector<std::string> warnings(const Machine& machine, std::size_t ranks);

}  // namespace wq::host
