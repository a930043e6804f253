// The worker of rank 0. It runs on the manager's thread and uses a link within the process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/background.h"
#include "base/time.h"
#include "manager/run/mpi_node_share.h"
#include "net/frames/loopback.h"
#include "node/launcher/function_runner.h"
#include "node/launcher/launcher.h"
#include "ranks/tickets/ticket_pool.h"
#include "worker/ticket_client.h"
#include "worker/worker.h"

namespace wq::manager::run {

class OwnWorker {
  public:
    // `tickets`: the pool of this node; null: all tasks are leased. `functions`: null: only the launcher has
    // functions. `files`: null: it takes no tasks with files.
    OwnWorker(worker::WorkerOptions options, node::launcher::Launcher& launcher,
              ranks::tickets::TicketPool* tickets, node::launcher::FunctionRunner* functions = nullptr,
              Background* files = nullptr);

    net::frames::Transport& end_of_manager() { return *manager_end_; }
    net::frames::Transport& end_of_worker() { return *worker_end_; }
    worker::Worker& worker() { return *worker_; }
    node::launcher::Launcher& launcher() { return launcher_; }
    const node::launcher::FunctionRunner* functions() const { return functions_; }
    const Background* files() const { return files_; }

  private:
    node::launcher::Launcher& launcher_;
    node::launcher::FunctionRunner* functions_;
    Background* files_;
    net::frames::LoopbackNetwork network_{2};
    std::unique_ptr<net::frames::Transport> manager_end_;
    std::unique_ptr<net::frames::Transport> worker_end_;
    std::optional<worker::TicketClient> taker_;
    std::optional<worker::Worker> worker_;
};

// The options of a rank's worker, for work_queue_run and for programs.
struct RankWorkerOptions {
    int rank = 0;
    std::string shell;  // from find_shell()
    std::string index_variable;
    bool environment_lines = false;
    std::optional<Instant> leaves_at;
};
worker::WorkerOptions rank_worker(const RankWorkerOptions& options, const NodeShare& share);

}  // namespace wq::manager::run
