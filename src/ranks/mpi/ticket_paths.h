// How a node gets its next range of tickets from rank 0: through a counter window or by message. Measured at
// start-up, because it depends on the network and the build of MPI, and one-sided calls of some builds hang.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "ranks/mpi/mpi_session.h"
#include "ranks/mpi/mpi_ticket_paths.h"

namespace wq::ranks::mpi {

struct TicketPathOptions {
    Duration each = std::chrono::milliseconds(100);  // measurement time for each path
    Duration watchdog = std::chrono::seconds(2);     // a window that takes longer to answer is not used
    Duration nap = std::chrono::milliseconds(1);  // how long rank 0 sleeps between its MPI calls, as in a run
    double clearly = 2;                           // the window must be this many times faster
    std::optional<int> claimer;  // the rank that measures; default: the first one of another node
};

struct TicketPaths {
    bool window = false;
    double window_per_second = 0;  // claims, one at a time; 0: not measured
    double message_per_second = 0;
    std::string why;  // one line, for -v
};

// Collective over all ranks, at start-up; every rank gets the same answer. `window` is null if there is none,
// and `window_problem` then says why. Takes about 2 * each, plus the time to find out that a window does not
// answer.
//
// A call that hangs although the window answered at first cannot be abandoned: the process then prints a line
// with the remedy and ends, which before mpi_ready() ends the job.
Result<TicketPaths> measure_ticket_paths(const MpiSession& session, CounterWindow* window,
                                         const std::string& window_problem,
                                         const TicketPathOptions& options = {});

}  // namespace wq::ranks::mpi
