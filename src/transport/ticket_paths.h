// Which way a node fetches its next range of tickets from rank 0: through a counter window or by a message.
// Measured at start, since it depends on the network and on how this MPI was built, and since one-sided calls
// of some builds hang.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "transport/mpi_counter_window.h"
#include "transport/mpi_session.h"

namespace wq::transport {

struct TicketPathOptions {
    Duration each = std::chrono::milliseconds(100);  // how long each way is measured
    Duration watchdog = std::chrono::seconds(2);     // a window that does not answer for so long is out
    Duration nap =
        std::chrono::milliseconds(1);  // rank 0 sleeps so long between its looks, as it does in a run
    double clearly = 2;                // the window must be so many times faster
    std::optional<int> claimer;        // who measures; default: the first rank of another node
};

struct TicketPaths {
    bool window = false;
    double window_per_second = 0;  // claims, one at a time; 0: not measured
    double message_per_second = 0;
    std::string why;  // one line for -v
};

// Collective over all ranks, at start-up; every rank gets the same answer. `window` is null when there is
// none, and `window_problem` then says why. Takes about 2 * each + the time to find out that a window does
// not answer.
//
// A call that hangs although the window answered at first cannot be left: then the process prints a line with
// the remedy and ends, which before mpi_ready() ends the job.
Result<TicketPaths> measure_ticket_paths(const MpiSession& session, CounterWindow* window,
                                         const std::string& window_problem,
                                         const TicketPathOptions& options = {});

}  // namespace wq::transport
