// The share of its node that a rank may use: cores, memory, disk and GPUs are divided among the node's ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/launcher/launcher.h"
#include "ranks/mpi/mpi_session.h"

namespace wq::manager::run {

struct NodeShare {
    node::machine::NodeSlice slice;
    engine::model::Resources offers;
    std::int64_t allocated_cores = 0;  // of the node, to the batch job; 0: not known
    std::vector<std::string> remarks;  // for the user, e.g. "bound to 1 of 64 cores"
};

// Collective over the node's ranks. `folder`: its free disk counts. `works`: false for a rank that runs no
// tasks and takes no share.
Result<NodeShare> share_node(const ranks::mpi::MpiSession& session, const std::string& folder, bool works);

}  // namespace wq::manager::run
