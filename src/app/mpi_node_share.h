// The part of its node that a rank works with: cores, memory, disk and GPUs divided over the node's ranks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/launcher.h"
#include "transport/mpi_session.h"

namespace wq::app {

struct NodeShare {
    host::Slice slice;
    core::Resources offers;
    std::vector<std::string> remarks;  // what the user should know, e.g. "bound to 1 of 64 cores"
};

// Collective over the node's ranks. `folder`: whose free disk counts. `works`: false for a rank that runs no
// tasks and takes no share.
Result<NodeShare> share_node(const transport::MpiSession& session, const std::string& folder, bool works);

}  // namespace wq::app
