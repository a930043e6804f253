// What a Manager takes from an MpiSession. Nothing here needs MPI: a program without a session links none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launcher/function_runner.h"
#include "launcher/launcher.h"
#include "net/transport.h"
#include "tickets/counters.h"
#include "tickets/ticket_pool.h"
#include "work_queue/mpi.h"
#include "worker/worker.h"

namespace wq {

struct MpiSession::Parts {
    virtual ~Parts() = default;

    int rank = 0;
    int size = 1;
    bool works = true;  // false: rank 0, which only manages
    std::vector<std::string> remarks;
    worker::WorkerOptions worker;
    std::unique_ptr<launcher::Launcher> launcher;
    std::unique_ptr<launcher::FunctionRunner> functions;  // once the launcher is open
    net::Transport* ranks = nullptr;                      // null: there is one rank
    tickets::TicketPool* tickets = nullptr;               // of this node; null: everything is leased
    tickets::Counters* counters = nullptr;                // null: nodes refill by message

    bool has_manager = false;
    bool lost_a_rank = false;  // no MPI_Finalize
};

}  // namespace wq
