// Says goodbye to the process manager in place of a rank that ended without MPI_Finalize, as the same client:
// then its end counts as orderly and the other ranks are left alone.
#pragma once

#include "base/time.h"
#include "transport/launch_environment.h"

namespace wq::transport {

// A client that is killed while it connects is fatal to a server of PMIx 4.2.2: its error path gives the
// rank's record back twice, and mpirun, when it ends, waits for ever for the mutex of the freed record. (A
// limit of 2 ms, which cut the goodbye short, hung 9 of 18 runs, one of 3 ms 9 of 9.) Hence a limit far above
// what all takes: 7 ms in the median, but 1 s and more at a load of 18 on 2 cores.
struct GoodbyeOptions {
    Duration limit = std::chrono::seconds(20);  // of one attempt
    int attempts = 3;
};

// Call from a process without threads (it forks). False when nobody listened: the launcher then counts the
// end as a failure of the job.
bool say_goodbye(ProcessManager manager, const GoodbyeOptions& options = {});

// Asks the process manager to end the whole job, for launchers that do not do so when one rank fails: srun
// and hydra leave the others waiting in MPI_Init. From a process without threads. False when nobody listened.
bool abort_job(ProcessManager manager, int exit_code, const GoodbyeOptions& options = {});

}  // namespace wq::transport
