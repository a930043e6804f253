// A Segment shared by the ranks of a node (MPI_Win_allocate_shared). After start-up no MPI call is made for
// it: the ranks use the memory as threads would.
#pragma once

#include <memory>

#include "base/result.h"
#include "ranks/mpi/mpi_session.h"
#include "ranks/mpi/segment.h"

namespace wq::ranks::mpi {

// Collective over the node, with the same size on all its ranks; all succeed or none. Zeroed. A node with one
// rank, and a session without MPI, get private memory: a window of one rank fails with some MPIs.
Result<std::unique_ptr<Segment>> open_node_segment(MpiSession& session, std::size_t bytes);

}  // namespace wq::ranks::mpi
