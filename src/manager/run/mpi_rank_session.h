// A rank of an MPI job, from the start of MPI to its end, for work_queue_run and for programs.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/background.h"
#include "base/signals.h"
#include "manager/run/mpi_tickets.h"
#include "manager/run/rank_loop.h"
#include "node/launcher/function_runner.h"
#include "node/launcher/launcher.h"
#include "ranks/mpi/guard.h"
#include "ranks/mpi/launch_environment.h"
#include "ranks/mpi/mpi_session.h"
#include "ranks/mpi/mpi_transport.h"
#include "ranks/mpi/process_watch.h"
#include "ranks/mpi/watchdog.h"
#include "worker/worker.h"

namespace wq::manager::run {

// For the launcher of a rank, and for the functions of a program, to end with their rank.
inline constexpr Duration rank_close_limit = std::chrono::milliseconds(500);

struct RankWorkParts {
    worker::WorkerOptions options;
    node::launcher::Launcher& launcher;  // it is open
    Signals* signals;                    // null: others handle signals
    StopPolicy stop;
    node::launcher::FunctionRunner* functions = nullptr;  // null: only the launcher has functions
    Background* files = nullptr;                          // null: it takes no tasks with files
};

struct RankWorkEnd {
    int exit_code;
    bool ranks_lost;  // the run has lost a rank: no MPI_Finalize
};

class MpiRankSession {
  public:
    // `guard` must outlive it. MPI is not started yet.
    MpiRankSession(ranks::mpi::LaunchEnvironment environment, ranks::mpi::GuardLink& guard);

    // The steps of start-up, by all ranks in this order. Each throws Failure.
    void start();
    void attach();      // instead of start(), if the program has started MPI
    void open_ranks();  // if there are several
    void open_tickets(NodeRefill refill);
    void ready();    // after the last collective: from now on, the guard says goodbye for a lost rank
    void awaited();  // others may wait for this rank: if it is lost before the next ready(), the job ends

    // Before collectives of all ranks after start-up; after them call ready(). The first time it is
    // collective itself, and returns null. Later, as long as the result lives: if a rank of this node has
    // ended since, this rank exits with 75, which ends the job, as the collectives would never return; the
    // first rank that notices says why. `say` is called on another thread.
    std::unique_ptr<ranks::mpi::Watchdog> before_collectives(
        const std::function<void(const std::string&)>& say);

    // Runs the worker of a rank other than 0 until the manager dismisses it or is lost.
    RankWorkEnd work(RankWorkParts parts);

    // Ends MPI after start(), when everything is saved. `code`: the exit code of the process. Does not return
    // if the process must end without MPI_Finalize.
    void end(int code);
    // Ends the session after attach(). Collective, after settle().
    void detach();

    const ranks::mpi::LaunchEnvironment& environment() const { return environment_; }
    bool has_begun() const { return mpi_ != nullptr; }          // start() or attach() succeeded
    ranks::mpi::MpiSession& mpi() { return *mpi_; }             // if has_begun()
    ranks::mpi::MpiTransport* ranks() { return ranks_.get(); }  // null: one rank
    const RankTickets& tickets() const { return tickets_; }     // its pool is null: all tasks are leased

  private:
    const ranks::mpi::LaunchEnvironment environment_;
    ranks::mpi::GuardLink& guard_;
    std::unique_ptr<ranks::mpi::MpiSession> mpi_;
    std::unique_ptr<ranks::mpi::MpiTransport> ranks_;
    RankTickets tickets_;
    bool is_awaited_ = false;
    // The other ranks of this node, by world rank. Null before the first collectives after start-up.
    std::unique_ptr<ranks::mpi::ProcessWatch> mates_;
    std::set<std::uint32_t> ended_mates_;
};

// Ends a session in a program that continues to use MPI. Collective: waits until all ranks call it and
// MpiTransport::settled(). Calls `waits` once, after a minute. If `well` is false, a rank may be lost and
// never come: then returns false after 10 s.
bool settle(ranks::mpi::MpiTransport& ranks, bool well, const std::function<void()>& waits);

}  // namespace wq::manager::run
