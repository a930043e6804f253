// Makes the ranks of an MPI job workers of a program's manager.
//
//   int main() {
//       wq::MpiSession mpi;                       // first, before any thread
//       if (mpi.rank() > 0) return mpi.serve();   // works until the manager on rank 0 ends
//       wq::Manager manager({.port = 0, .mpi = &mpi});
//       ...
//   }
//
// Without mpirun or srun, the process is rank 0 of 1 and does not use MPI.
//
// Normally the session starts MPI. The process then forks a guard, which mpirun waits for, and a launcher,
// which runs the commands of tasks. If a rank is killed, the job and the other ranks therefore go on, and its
// tasks are requeued; but if it has not yet begun to manage, to serve or to share slices, the job ends, as
// other ranks may wait for it. Only the manager's thread calls MPI; the program makes no MPI calls. The
// program handles signals on rank 0 only. Other ranks ignore requests to stop; if mpirun kills them soon
// after, they end at once with their tasks.
//
// If all ranks of the program have already called MPI_Init_thread (with at least MPI_THREAD_SERIALIZED), the
// session forks no process; the launcher is the separate program work_queue_launcher. Then
//   * the program may make MPI calls before and after the session, and calls MPI_Finalize; other sessions may
//     follow;
//   * there is no guard: mpirun ends the whole job when a rank is killed;
//   * calls in fork mode fail on ranks, with a reason; CallMode::thread and direct work;
//   * the program handles signals on all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace [[gnu::visibility("default")]] wq {

class Functions;

struct MpiOptions {
    bool manager_only = false;  // rank 0 runs no tasks
    bool tickets = true;        // ranks claim ranges and batches through one-sided counters
    std::string shell;          // shell for commands; empty: bash if installed, else sh
    // Path of work_queue_launcher, used if the program has called MPI_Init; empty: $WORK_QUEUE_LAUNCHER, else
    // the one installed with the library.
    std::string launcher;
};

class MpiSession {
  public:
    // Collective: every rank constructs one, first in main() or after MPI_Init_thread. `functions`, for
    // calls, must be the same on all ranks; they are copied. Throws SetupError if MPI cannot be used; exit
    // then, because other ranks may wait for this one.
    explicit MpiSession(MpiOptions options = {});
    explicit MpiSession(const Functions& functions, MpiOptions options = {});
    // Rank 0 dismisses the other ranks if it had no Manager. MPI_Finalize runs when the process exits (by
    // exit() or the end of main()). If a rank was lost, the process calls _exit instead, with the same code.
    // If the program started MPI, the destructor is collective and does not call MPI_Finalize. Ranks then
    // wait for each other: without limit, with a line on stderr after a minute, but only 10 s if a rank is
    // known to be lost.
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    int rank() const;
    int size() const;

    // Runs tasks until the manager dismisses this rank or is lost; on rank 0 it returns at once. Returns the
    // exit code for main(): 0, or 75 if the manager was lost.
    int serve();

    // Ends the whole job, without any destructor: for an error of the program, whose other ranks may wait for
    // this one.
    [[noreturn]] void abort_job(int exit_code);

    struct Parts;  // of the implementation
    Parts& parts() { return *parts_; }

  private:
    std::unique_ptr<Parts> parts_;
};

}  // namespace gnu::visibility("default")]]wq
