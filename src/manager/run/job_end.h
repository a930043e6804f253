// The end of the batch job that this process runs in, and its start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "base/signals.h"
#include "base/time.h"
#include "node/machine/batch_job.h"

namespace wq::manager::run {

// How long before a known end running tasks are drained.
inline constexpr Duration drain_before_end = std::chrono::seconds(60);

inline constexpr Duration batch_answer_limit = std::chrono::seconds(5);

enum class EndFrom : std::uint8_t { server, environment };

// Starts to ask when the batch job ends. One rank asks the batch system's server; the others use only their
// environment. Call it before MPI_Init, because it may fork.
node::machine::BatchEnd ask_for_end(EndFrom from);

// Waits for the answer up to `limit`. Nothing: no batch job, or its end is unknown.
std::optional<Instant> known_end(node::machine::BatchEnd& batch_end, Duration limit = batch_answer_limit);

// Nothing: no batch job, or its start is unknown.
std::optional<Instant> known_start();

// Starting a run may take long: MPI_Init, the journal of an earlier run, a slow file system. Until the run's
// loop handles signals, a stop signal ends the process at once. Nothing is lost, because the records of an
// earlier run stay.
class EarlyStop {
  public:
    // Starts watching in a thread, so construct it after all forks. `signals` must outlive it. `last_words`
    // are a line for stderr; empty: none.
    EarlyStop(const Signals& signals, std::string last_words);
    ~EarlyStop() { end(); }
    EarlyStop(const EarlyStop&) = delete;
    EarlyStop& operator=(const EarlyStop&) = delete;

    // From now on the loop handles signals, including one that has just arrived.
    void end();

  private:
    Wake over_;
    std::thread thread_;
};

}  // namespace wq::manager::run
