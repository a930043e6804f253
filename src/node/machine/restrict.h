// Reduces a machine to what may be offered.
#pragma once

#include "node/machine/machine.h"

namespace wq::node::machine {

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
