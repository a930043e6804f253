// Rank 0 of work_queue_run: the run directory, the source, the records, the manager, its own worker, the
// summary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/early_stop.h"
#include "app/rank_loop.h"
#include "app/signals.h"
#include "app/worker.h"
#include "app/mpi_node_share.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "host/launcher.h"
#include "transport/counters.h"
#include "transport/mpi_session.h"
#include "transport/ticket_pool.h"
#include "transport/transport.h"

namespace wq::cli {

struct ManagerRank {
    const RunOptions& options;
    const std::vector<std::string>& command_line;
    std::string launched_by;  // "mpirun", "srun"; empty: started by none
    transport::MpiSession& session;
    transport::Transport* ranks;  // null: one rank
    host::Launcher& launcher;
    app::Signals& signals;
    app::EarlyStop& early_stop;  // ended when the loop begins
    app::WorkerOptions worker;   // of its own worker; not used with --manager-only
    app::StopPolicy stop;
    std::vector<std::string> remarks;
    transport::TicketPool* tickets;  // of this node; null: everything is leased
    transport::Counters* counters;   // null: nodes refill by message

    // The exit code. Throws Failure where nothing could begin; the other ranks are then still to be
    // dismissed.
    int run();
};

}  // namespace wq::cli
