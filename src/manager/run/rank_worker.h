// The options of a rank's worker, for work_queue_run and for programs.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "manager/run/mpi_node_share.h"
#include "worker/worker.h"

namespace wq::manager::run {

struct RankWorkerOptions {
    int rank = 0;
    std::string shell;  // from find_shell()
    std::string index_variable;
    bool environment_lines = false;
    std::optional<Instant> leaves_at;
};
worker::WorkerOptions rank_worker(const RankWorkerOptions& options, const NodeShare& share);

}  // namespace wq::manager::run
