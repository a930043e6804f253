// From what a machine has to what may be offered of it.
#pragma once

#include "host/bound.h"
#include "host/machine.h"

namespace wq::host {

// Lessens `machine` to what its bounds and these allow, which are added to them: the smallest counts, or the
// one that decides. Fewer cores than are usable, or more, are only a number: core_count. More GPUs than were
// found are numbered from 0. Memory counts in MB; disk is not the machine's. Of GPUs that are named but not
// there a remark is made.
void restrict_to(Machine& machine, const Bounds& bounds);

// Those that speak of the node as a whole.
Bounds of_node(const Bounds& bounds);

// Makes the cores that count, where they are fewer than those that are usable, the nearest ones: for a user
// who says that nobody else has them.
void choose_nearest(Machine& machine);

// At most `most` units of each core, the first.
void leave_threads(Machine& machine, std::size_t most);

}  // namespace wq::host
