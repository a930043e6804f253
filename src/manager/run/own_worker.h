// The worker of rank 0. It runs on the manager's thread and uses a link within the process.
#pragma once

#include <memory>
#include <optional>

#include "node/launcher/function_runner.h"
#include "node/launcher/launcher.h"
#include "net/frames/loopback.h"
#include "base/background.h"
#include "ranks/tickets/ticket_pool.h"
#include "worker/ticket_client.h"
#include "worker/worker.h"

namespace wq::run {

class OwnWorker {
  public:
    // `tickets`: the pool of this node; null: all tasks are leased. `functions`: null: only the launcher has
    // functions. `files`: null: it takes no tasks with files.
    OwnWorker(worker::WorkerOptions options, launcher::Launcher& launcher, tickets::TicketPool* tickets,
              launcher::FunctionRunner* functions = nullptr, Background* files = nullptr);

    net::Transport& end_of_manager() { return *manager_end_; }
    net::Transport& end_of_worker() { return *worker_end_; }
    worker::Worker& worker() { return *worker_; }
    launcher::Launcher& launcher() { return launcher_; }
    const launcher::FunctionRunner* functions() const { return functions_; }
    const Background* files() const { return files_; }

  private:
    launcher::Launcher& launcher_;
    launcher::FunctionRunner* functions_;
    Background* files_;
    net::LoopbackNetwork network_{2};
    std::unique_ptr<net::Transport> manager_end_;
    std::unique_ptr<net::Transport> worker_end_;
    std::optional<worker::TicketClient> taker_;
    std::optional<worker::Worker> worker_;
};

}  // namespace wq::run
