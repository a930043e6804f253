// Rank 0 of work_queue_run: the run directory, the source, the records, the manager, its own worker, the
// summary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/signals.h"
#include "cli/run_options.h"
#include "launcher/launcher.h"
#include "mpi/mpi_session.h"
#include "net/transport.h"
#include "report/progress.h"
#include "run/early_stop.h"
#include "run/mpi_node_share.h"
#include "run/rank_loop.h"
#include "tickets/counters.h"
#include "tickets/ticket_pool.h"
#include "worker/worker.h"

namespace wq::cli {

struct ManagerRank {
    const RunOptions& options;
    const std::vector<std::string>& command_line;
    std::string launched_by;  // "mpirun", "srun"; empty: started by none
    mpi::MpiSession& session;
    net::Transport* ranks;  // null: one rank
    launcher::Launcher& launcher;
    Signals& signals;
    run::EarlyStop& early_stop;    // ended when the loop begins
    worker::WorkerOptions worker;  // of its own worker; not used with --manager-only
    run::StopPolicy stop;
    std::vector<std::string> remarks;
    tickets::TicketPool* tickets;  // of this node; null: everything is leased
    tickets::Counters* counters;   // null: nodes refill by message

    // The exit code. Throws Failure where nothing could begin; the other ranks are then still to be
    // dismissed.
    int run();
};

}  // namespace wq::cli
