// Finalizes with the process manager, as the same client, for a rank that ended without MPI_Finalize. The
// rank's end then counts as orderly, and the other ranks continue.
#pragma once

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
bool say_goodbye(ProcessManager manager, const GoodbyeOptions& options = {});

// Asks the process manager to end the whole job, for launchers that do not do so when one rank fails: srun
// and hydra leave the others waiting in MPI_Init. Call from a process without threads. False if nobody
// answered.
bool abort_job(ProcessManager manager, int exit_code, const GoodbyeOptions& options = {});

}  // namespace wq::ranks::mpi
