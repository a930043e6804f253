// Finalizes with the process manager, as the same client, for a rank that ended without MPI_Finalize. The
// rank's end then counts as orderly, and the other ranks continue.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "ranks/mpi/launch_environment.h"

namespace wq::ranks::mpi {

// A client that is killed while it connects is fatal to a PMIx 4.2.2 server: its error path frees the rank's
// record twice, and mpirun hangs at its end on the mutex of the freed record. (A limit of 2 ms, which
// interrupted the goodbye, hung 9 of 18 runs; one of 3 ms 9 of 9.) Hence a limit far above the usual time: 7
// ms in the median, but 1 s and more at a load of 18 on 2 cores.
struct GoodbyeOptions {
    Duration limit = std::chrono::seconds(20);  // per attempt
    int attempts = 3;
};

// Call from a process without threads (it forks). False if nobody answered: the launcher then counts the end
// as a failure of the job.
bool send_goodbye(ProcessManager manager, const GoodbyeOptions& options = {});

// Asks the process manager to end the whole job, for launchers that do not do so when one rank fails: srun
// and hydra leave the others waiting in MPI_Init. Call from a process without threads. False if nobody
// answered.
bool abort_job(ProcessManager manager, int exit_code, const GoodbyeOptions& options = {});

// The guard: the process that mpirun or srun started. It forks the rank before MPI_Init and waits for it, so
// that the job's launcher sees an orderly end whatever happens to the rank. Its exit code, by when the rank
// ends:
//
//   before mpi_starting(): the rank's own code
//   before mpi_ready(): never 0; if the launcher does not end the job then (srun), the guard asks PMIx to:
//     otherwise the others would wait in MPI_Init
//   later, rank 0: its own code
//   later, another rank: 0; rank 0 knows what became of its tasks
//
// After mpi_ready() the guard says goodbye for the rank, except if the code ends the job anyway, or if mpirun
// has sent the guard SIGTERM.
//
// A rank killed by a signal has no code of its own: the guard uses 70 for the signals of a crash, which is
// our bug and no reason to requeue the job, else 75.
//
// The guard must not be the parent of tasks (`kill -9 $PPID` would end the whole run): that is the launcher.
struct RankState;

// What the rank tells its guard, in memory that both share. Does nothing without a guard.
class GuardLink {
  public:
    GuardLink() = default;
    explicit GuardLink(RankState& state) : state_(&state) {}

    void mpi_starting();       // MPI_Init is next, or others may wait for this rank in later collectives
    void mpi_ready(int rank);  // the last of these collectives is done
    void mpi_finalized();      // MPI_Finalize succeeded: no goodbye is needed

  private:
    RankState* state_ = nullptr;  // until the process ends
};

struct GuardOptions {
    GoodbyeOptions goodbye;
    // Gets one line if rank 0 was killed, or any rank while MPI started; may be empty.
    std::function<void(const std::string&)> say;
    bool resumable = false;  // that line says that the run can be resumed
    // How long a worker's guard waits for the SIGKILL that its launcher announced by SIGTERM.
    Duration kill_wait_limit = std::chrono::seconds(5);
};

// Call first in main(), before any thread. If a launcher started us, it forks, runs `main_of_rank` in the
// child (which exits with the result and never returns from here) and returns the guard's exit code in the
// parent. Otherwise it runs main_of_rank in this process.
//
// The guard survives SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2: launchers send them to the whole process
// group, so the rank gets them too. When the guard dies, the kernel kills the rank.
int run_guarded(const LaunchEnvironment& environment, const std::function<int(GuardLink&)>& main_of_rank,
                const GuardOptions& options = {});

// The same for code other than main(): returns nullopt in the rank, with its `link`, also without a guard; in
// the guard it returns the code to pass to _exit, once the rank has ended.
std::optional<int> fork_guard(const LaunchEnvironment& environment, GuardLink& link,
                              const GuardOptions& options = {});

}  // namespace wq::ranks::mpi
