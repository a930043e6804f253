// The ranks of an MPI job as workers of a program's manager.
//
//   int main() {
//       wq::MpiSession mpi;                       // first, before any thread
//       if (mpi.rank() > 0) return mpi.serve();   // works until the manager on rank 0 is gone
//       wq::Manager manager({.port = 0, .mpi = &mpi});
//       ...
//   }
//
// Where no launcher (mpirun, srun) started the process it is rank 0 of 1, without any MPI.
//
// The session starts MPI: at that the process forks a guard, which mpirun waits for in its place, and a
// launcher, which runs the tasks' commands. So a rank that is killed ends neither the job nor the others; its
// tasks go to other workers. MPI is the manager's thread's while a Manager lives; the program itself makes no
// MPI calls.
//
// Where the program has called MPI_Init_thread before (with MPI_THREAD_SERIALIZED at least, all ranks), no
// process is forked any more: the launcher is a program of its own, work_queue_launcher. Then
//   * MPI stays the program's: it makes its own calls before the session and after it, and MPI_Finalize; a
//     further session may follow;
//   * there is no guard: mpirun ends the whole job when a rank is killed;
//   * calls in fork mode fail on ranks, with a reason; CallMode::thread and direct work;
//   * signals are the program's on all ranks.
//
// Where the session starts MPI, signals are the program's on rank 0 only. The others ignore those that ask to
// stop, and end at once with what they run where the launcher kills them right after (mpirun does).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace [[gnu::visibility("default")]] wq {

class Functions;

struct MpiOptions {
    bool manager_only = false;  // rank 0 runs no tasks itself
    bool tickets = true;        // ranges and batches are claimed over one-sided counters
    std::string shell;          // that runs commands; empty: bash where there is one, else sh
    // Path of work_queue_launcher, where the program has called MPI_Init; empty: $WORK_QUEUE_LAUNCHER, else
    // the one that was installed with the library.
    std::string launcher;
};

class MpiSession {
  public:
    // Collective: all ranks make one, first thing in main() or anywhere behind MPI_Init_thread. `functions`:
    // what calls name, the same on all ranks; they are copied. Throws SetupError where MPI cannot be used:
    // the process is to exit then, for others may wait for it.
    explicit MpiSession(MpiOptions options = {});
    explicit MpiSession(const Functions& functions, MpiOptions options = {});
    // Rank 0 lets the others go where it had no Manager. MPI_Finalize is called when the process exits (by
    // exit() or the end of main()); where a rank was lost it leaves without, by _exit, with the same code.
    // Where MPI is the program's: collective, and nothing is finalized; ranks wait for each other here, and
    // say so on stderr after a minute; for 10 s where a rank is known to be lost.
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    int rank() const;
    int size() const;

    // On ranks other than 0 (there it returns 0 at once): runs tasks until the manager dismisses this rank or
    // is gone. Returns what main() is to return: 0, or 75 where the manager was lost.
    int serve();

    struct Parts;  // of the implementation
    Parts& parts() { return *parts_; }

  private:
    std::unique_ptr<Parts> parts_;
};

}  // namespace wq
