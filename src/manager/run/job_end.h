// The end of the batch job that this process runs in.
#pragma once

#include <optional>

#include "base/time.h"
#include "node/machine/batch_end.h"

namespace wq::manager::run {

// How long before a known end running tasks are drained.
inline constexpr Duration drain_before_end = std::chrono::seconds(60);

inline constexpr Duration batch_answer_limit = std::chrono::seconds(5);

// Starts to ask when the batch job ends. One rank asks the batch system's server; the others use their
// environment. Call it before MPI_Init, because it may fork.
node::machine::BatchEnd ask_for_end(bool asks_server);

// Waits for the answer up to `limit`. Nothing: no batch job, or its end is unknown.
std::optional<Instant> known_end(node::machine::BatchEnd& batch_end, Duration limit = batch_answer_limit);

}  // namespace wq::manager::run
