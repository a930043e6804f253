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

}  // namespace wq::transport
