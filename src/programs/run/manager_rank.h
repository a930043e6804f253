// Rank 0 of work_queue_run: owns the run directory, the source, the records, the manager, its own worker and
// the summary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/signals.h"
#include "manager/report/progress.h"
#include "manager/run/job_end.h"
#include "manager/run/mpi_node_share.h"
#include "manager/run/rank_loop.h"
#include "net/frames/transport.h"
#include "node/launcher/launcher.h"
#include "programs/run/run_options.h"
#include "ranks/mpi/mpi_session.h"
#include "ranks/tickets/sealed_batch.h"
#include "ranks/tickets/ticket_pool.h"
#include "worker/worker.h"

namespace wq::programs::run {

struct ManagerRank {
    const RunOptions& options;
    const std::vector<std::string>& command_line;
    std::string launched_by;  // "mpirun", "srun"; empty: no launcher
    ranks::mpi::MpiSession& session;
    net::frames::Transport* ranks;  // null: one rank
    node::launcher::Launcher& launcher;
    Signals& signals;
    manager::run::EarlyStop& early_stop;  // ended when the loop starts
    wq::worker::WorkerOptions worker;     // of its own worker; unused with --manager-only
    manager::run::StopPolicy stop;
    std::vector<std::string> remarks;
    ranks::tickets::TicketPool* tickets;  // of this node; null: all tasks are leased
    ranks::tickets::Counters* counters;   // null: nodes refill by message

    // Returns the exit code. Throws Failure if the run cannot start; the caller must then dismiss the other
    // ranks.
    int run();
};

}  // namespace wq::programs::run
