// Counters in rank 0's memory that ranks of other nodes increment one-sided (MPI_Fetch_and_op). Not for ranks
// of one node: there the library holds a spin lock in shared memory, and a rank killed while holding it hangs
// the others (26 of 70 runs with Open MPI 4.1.4). For the same reason a call may hang when a rank is killed;
// `--tickets message` avoids that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "ranks/mpi/mpi_session.h"
#include "ranks/tickets/sealed_batch.h"

namespace wq::ranks::mpi {

class CounterWindow final : public tickets::Counters {
  public:
    // Collective over all ranks; all succeed or none. The error says why this MPI has no such window: with
    // Debian's defaults and TCP it is MPI_ERR_WIN. Also an error with only one rank. The session owns the
    // window and frees it in finish().
    static Result<std::unique_ptr<CounterWindow>> open(MpiSession& session, std::size_t counters);
    ~CounterWindow() override;

    // Both wait for rank 0's network card or, over TCP, for rank 0's next MPI call.
    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override;
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override;
    void serve() override;  // rank 0's MPI call

    // Starts an addition that the caller tests and may abandon, to find out whether the window works.
    class Trial {
      public:
        virtual ~Trial() = default;
        virtual bool done() = 0;
        virtual std::uint64_t before() const = 0;  // valid when done
    };
    Result<std::unique_ptr<Trial>> try_add(std::size_t counter, std::uint64_t amount);

  private:
    struct Window;
    explicit CounterWindow(std::unique_ptr<Window> window);
    std::unique_ptr<Window> window_;
};

// How a node gets its next range of tickets from rank 0: through a counter window or by message. Measured at
// start-up, because it depends on the network and the build of MPI, and one-sided calls of some builds hang.
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
