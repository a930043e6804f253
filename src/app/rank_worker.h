// What a rank's worker is made with, in work_queue_run and in a program of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/mpi_node_share.h"
#include "app/worker.h"
#include "base/result.h"
#include "host/batch_end.h"

namespace wq::app {

// The path of `wanted`; empty: bash where there is one, else sh. Error: it cannot be executed.
Result<std::string> find_shell(const std::string& wanted);

// When the batch job ends. One rank asks the batch system's server; the others know what stands in their
// environment. To be called before MPI_Init, for it may fork.
host::BatchEnd ask_for_end(bool asks_server);
std::optional<Instant> known_end(host::BatchEnd& batch_end);

struct RankWorkerOptions {
    int rank = 0;
    std::string shell;  // as find_shell() found it
    std::string index_variable;
    bool environment_lines = false;
    std::optional<Instant> leaves_at;
};
WorkerOptions rank_worker(const RankWorkerOptions& options, const NodeShare& share);

}  // namespace wq::app
