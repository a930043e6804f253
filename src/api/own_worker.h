// The worker of rank 0: on the manager's thread, over a wire within the process.
#pragma once

#include <memory>
#include <optional>

#include "app/background_thread.h"
#include "app/ticket_taker.h"
#include "app/worker.h"
#include "host/function_runner.h"
#include "host/launcher.h"
#include "transport/loopback.h"
#include "transport/ticket_pool.h"

namespace wq::api {

class OwnWorker {
  public:
    // `tickets`: of this node; null: everything is leased.
    OwnWorker(app::WorkerOptions options, host::Launcher& launcher, host::FunctionRunner& functions,
              transport::TicketPool* tickets);

    transport::Transport& end_of_manager() { return *manager_end_; }
    transport::Transport& end_of_worker() { return *worker_end_; }
    app::Worker& worker() { return *worker_; }
    host::Launcher& launcher() { return launcher_; }
    host::FunctionRunner& functions() { return functions_; }
    app::Background& files() { return files_; }

  private:
    host::Launcher& launcher_;
    host::FunctionRunner& functions_;
    transport::LoopbackNetwork network_{2};
    std::unique_ptr<transport::Transport> manager_end_;
    std::unique_ptr<transport::Transport> worker_end_;
    std::optional<app::TicketTaker> taker_;
    app::BackgroundThread files_;
    std::optional<app::Worker> worker_;
};

}  // namespace wq::api
