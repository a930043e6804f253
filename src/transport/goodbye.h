// Says goodbye to the process manager in place of a rank that ended without MPI_Finalize, as the same client:
// then its end counts as orderly and the other ranks are left alone.
#pragma once

#include "base/time.h"
#include "transport/launch_environment.h"

namespace wq::transport {

struct GoodbyeOptions {
    Duration limit = std::chrono::seconds(1);  // of one attempt: PMIx_Init was seen to hang in 5 of 54 runs
    int attempts = 5;
};

// Call from a process without threads (it forks). False when nobody listened: the launcher then counts the
// end as a failure of the job.
bool say_goodbye(ProcessManager manager, const GoodbyeOptions& options = {});

// Asks the process manager to end the whole job, for launchers that do not do so when one rank fails: srun leaves the
// others waiting in MPI_Init. From a process without threads. False when nobody listened.
bool abort_job(ProcessManager manager, int exit_code, const GoodbyeOptions& options = {});

}  // namespace wq::transport
