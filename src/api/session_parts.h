// The parts of an MpiSession that a Manager or a SliceQueue uses. They do not need MPI, so that a program
// without a session links no MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/model/task.h"
#include "manager/run/mpi_tickets.h"
#include "net/frames/transport.h"
#include "node/launcher/function_runner.h"
#include "node/launcher/launcher.h"
#include "node/process/functions.h"
#include "ranks/mpi/watchdog.h"
#include "ranks/tickets/sealed_batch.h"
#include "ranks/tickets/ticket_pool.h"
#include "work_queue/functions.h"
#include "work_queue/mpi.h"
#include "worker/worker.h"

namespace wq {

struct MpiSession::Parts {
    virtual ~Parts() = default;

    // Collective; they throw Failure.
    virtual std::vector<std::string> gather(const std::string& mine) = 0;  // of all ranks
    virtual manager::run::NodeTickets open_node_tickets() = 0;             // without texts
    // Counters in rank 0's memory, for nodes without rank 0, even if they are no faster than messages. Null:
    // `why` says why.
    virtual ranks::tickets::Counters* open_counters(std::string& why) = 0;
    // Rank 0 manages from now on: its death no longer ends the job as that of a rank for which others wait.
    virtual void begins_to_manage() = 0;
    // All ranks call them around the collectives of a SliceQueue; see MpiRankSession. The first one throws
    // Failure, and may be collective itself: no other thread calls MPI then.
    virtual std::unique_ptr<ranks::mpi::Watchdog> before_collectives() = 0;
    virtual void after_collectives() = 0;
    // The program runs on this rank, too, and its signals are its own.
    virtual void give_back_signals() = 0;

    int rank = 0;
    int size = 1;
    int node_size = 1;  // ranks on this node
    bool works = true;  // false: rank 0 only manages
    std::vector<std::string> remarks;
    worker::WorkerOptions worker;
    std::unique_ptr<node::launcher::Launcher> launcher;
    std::unique_ptr<node::launcher::FunctionRunner> functions;  // set once the launcher is open
    net::frames::Transport* ranks = nullptr;                    // null: only one rank
    ranks::tickets::TicketPool* tickets = nullptr;              // of this node; null: all tasks are leased
    ranks::tickets::Counters* counters = nullptr;               // null: nodes refill by message

    bool beside_rank_0 = true;
    bool threads_may_call = false;   // MPI, at once
    bool is_using_counters = false;  // a thread of a SliceQueue
    bool has_manager = false;
    bool lost_a_rank = false;  // no MPI_Finalize
};

}  // namespace wq

// Converts a program's typed functions to the table that a worker calls.

namespace wq::api {

// Every manager accepts all functions that can be registered.
static_assert(Functions::longest_name == engine::model::longest_feature &&
              Functions::most == engine::model::most_functions);

inline node::process::FunctionTable function_table(const Functions& functions) {
    node::process::FunctionTable table;
    for (const auto& [name, function] : functions.all())
        table.add(name, {function.call, function.call_index});
    return table;
}

}  // namespace wq::api
