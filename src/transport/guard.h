// The guard: the process that mpirun or srun started. It forks the rank before MPI_Init and waits for it, so
// that the launcher of the job sees an orderly end whatever happens to the rank:
//
//   before mpi_starting(): the rank's own code
//   before mpi_ready(): never 0, and where the launcher does not end the job at that (srun), PMIx is told to:
//     the others would wait in MPI_Init
//   later, rank 0: its own code
//   later, another rank: 0; what became of its tasks is known to rank 0
//
// Later ones get a goodbye, but not where the code ends the job anyway, nor from a guard that mpirun has sent
// SIGTERM.
//
// A rank that a signal ended has no code of its own: 70 for the signals of a crash, which is our bug and no
// reason to requeue the job, else 75.
//
// The guard must not be the parent of tasks (`kill -9 $PPID` would end the whole run): these belong to the
// launcher.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "transport/goodbye.h"
#include "transport/launch_environment.h"

namespace wq::transport {

// The rank's end of the pipe to its guard. Without a guard it does nothing.
class GuardLink {
  public:
    GuardLink() = default;
    explicit GuardLink(int descriptor) : descriptor_(descriptor) {}

    void mpi_starting();       // the next thing is MPI_Init
    void mpi_ready(int rank);  // the last collective of start-up is behind us
    void mpi_finalized();      // MPI_Finalize went through: no goodbye is needed

  private:
    void tell(char word, int number);
    int descriptor_ = -1;
};

struct GuardOptions {
    GoodbyeOptions goodbye;
    // Gets one line when rank 0 was killed, or any rank while MPI started; may be empty.
    std::function<void(const std::string&)> tell;
    // How long a worker's guard waits for the SIGKILL that its launcher has announced by SIGTERM.
    Duration kill_patience = std::chrono::seconds(5);
};

// Call first thing in main(), before any thread. Where a launcher started us: forks, runs `main_of_rank` in
// the child (which never returns from here: it leaves by exit() with what main_of_rank returned) and returns
// the guard's exit code in the parent. Else: runs main_of_rank right here.
//
// The guard lives on at SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2: launchers send them to the whole
// process group and the rank has them too. When the guard dies, the kernel kills the rank.
int run_guarded(const LaunchEnvironment& environment, const std::function<int(GuardLink&)>& main_of_rank,
                const GuardOptions& options = {});

// The same for who is no main(): returns nothing in the rank, with its `link`, also where it has no guard;
// and in the guard, once the rank is over, the code that it is to leave with, by _exit.
std::optional<int> fork_guard(const LaunchEnvironment& environment, GuardLink& link,
                              const GuardOptions& options = {});

}  // namespace wq::transport
