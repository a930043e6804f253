// A Segment that the ranks of a node share (MPI_Win_allocate_shared). No MPI call is made for it after
// start-up: the ranks use the memory as threads would.
#pragma once

#include <memory>

#include "base/result.h"
#include "transport/mpi_session.h"
#include "transport/segment.h"

namespace wq::transport {

// Collective over the node, with the same size on all its ranks; all of them succeed or none. Zeroed. A node
// with one rank, and a session without MPI, gets private memory: a window of one rank fails on some MPIs.
Result<std::unique_ptr<Segment>> open_node_segment(MpiSession& session, std::size_t bytes);

}  // namespace wq::transport
