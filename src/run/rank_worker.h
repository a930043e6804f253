// The options of a rank's worker, for work_queue_run and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "machine/batch_end.h"
#include "run/mpi_node_share.h"
#include "worker/worker.h"

namespace wq::run {

// Returns the path of `wanted`; empty: bash if installed, else sh. Error: it cannot be executed.
Result<std::string> find_shell(const std::string& wanted);

// Returns when the batch job ends. One rank asks the batch system's server; the others use their environment.
// Call it before MPI_Init, because it may fork.
machine::BatchEnd ask_for_end(bool asks_server);
std::optional<Instant> known_end(machine::BatchEnd& batch_end);

struct RankWorkerOptions {
    int rank = 0;
    std::string shell;  // from find_shell()
    std::string index_variable;
    bool environment_lines = false;
    std::optional<Instant> leaves_at;
};
worker::WorkerOptions rank_worker(const RankWorkerOptions& options, const NodeShare& share);

}  // namespace wq::run
