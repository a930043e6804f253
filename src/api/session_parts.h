// What a Manager takes from an MpiSession. Nothing here needs MPI: a program without a session links none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/worker.h"
#include "host/function_runner.h"
#include "host/launcher.h"
#include "transport/counters.h"
#include "transport/ticket_pool.h"
#include "transport/transport.h"
#include "work_queue/mpi.h"

namespace wq {

struct MpiSession::Parts {
    virtual ~Parts() = default;

    int rank = 0;
    int size = 1;
    bool works = true;  // false: rank 0, which only manages
    std::vector<std::string> remarks;
    app::WorkerOptions worker;
    std::unique_ptr<host::Launcher> launcher;
    std::unique_ptr<host::FunctionRunner> functions;  // once the launcher is open
    transport::Transport* ranks = nullptr;            // null: there is one rank
    transport::TicketPool* tickets = nullptr;         // of this node; null: everything is leased
    transport::Counters* counters = nullptr;          // null: nodes refill by message

    bool has_manager = false;
    bool lost_a_rank = false;  // no MPI_Finalize
};

}  // namespace wq
