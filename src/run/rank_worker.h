// The options of a rank's worker, in work_queue_run and in programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "machine/batch_end.h"
#include "run/mpi_node_share.h"
#include "worker/worker.h"

namespace wq::run {

// The path of `wanted`; empty: bash where there is one, else sh. Error: it cannot be executed.
Result<std::string> find_shell(const std::string& wanted);

// When the batch job ends. One rank asks the batch system's server; the others know what stands in their
// environment. To be called before MPI_Init, for it may fork.
machine::BatchEnd ask_for_end(bool asks_server);
std::optional<Instant> known_end(machine::BatchEnd& batch_end);

struct RankWorkerOptions {
    int rank = 0;
    std::string shell;  // as find_shell() found it
    std::string index_variable;
    bool environment_lines = false;
    std::optional<Instant> leaves_at;
};
worker::WorkerOptions rank_worker(const RankWorkerOptions& options, const NodeShare& share);

}  // namespace wq::run
