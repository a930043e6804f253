// The worker of rank 0. It runs on the manager's thread and uses a link within the process.
#pragma once

#include <memory>
#include <optional>

#include "base/background_thread.h"
#include "launcher/function_runner.h"
#include "launcher/launcher.h"
#include "net/loopback.h"
#include "tickets/ticket_pool.h"
#include "worker/ticket_client.h"
#include "worker/worker.h"

namespace wq::api {

class OwnWorker {
  public:
    // `tickets`: the pool of this node; null: all tasks are leased.
    OwnWorker(worker::WorkerOptions options, launcher::Launcher& launcher,
              launcher::FunctionRunner& functions, tickets::TicketPool* tickets);

    net::Transport& end_of_manager() { return *manager_end_; }
    net::Transport& end_of_worker() { return *worker_end_; }
    worker::Worker& worker() { return *worker_; }
    launcher::Launcher& launcher() { return launcher_; }
    launcher::FunctionRunner& functions() { return functions_; }
    Background& files() { return files_; }

  private:
    launcher::Launcher& launcher_;
    launcher::FunctionRunner& functions_;
    net::LoopbackNetwork network_{2};
    std::unique_ptr<net::Transport> manager_end_;
    std::unique_ptr<net::Transport> worker_end_;
    std::optional<worker::TicketClient> taker_;
    BackgroundThread files_;
    std::optional<worker::Worker> worker_;
};

}  // namespace wq::api
