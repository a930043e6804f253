// When workers offered their cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "engine/model/resources.h"
#include "views/model/run_view.h"

namespace wq::views::model {

// Thousandths of a core times microseconds. 64 bits would hold 106,000 cores for a day.
__extension__ using CoreTime = __int128;

struct Stay {
    WallMicros begin = 0;
    WallMicros end = 0;
    bool operator==(const Stay&) const = default;
};

// Of each worker of the run, in their order: from the start of its batch job, else of its process, else from
// when it joined, until it left, else until the run's end; but not before the session began that it joined:
// what a batch job or a process did before, also between sessions, is not this run's. Of workers that follow
// each other in one batch job on a host, each begins where the one before has left, so that nothing counts
// twice.
std::vector<Stay> stays_of(std::span<const RunWorker> workers, const RunView& run);

// Cores of allocations that no worker offered, while at least one of the batch job was on that host.
CoreTime not_offered_by(std::span<const RunWorker> workers, std::span<const Stay> stays);

// Thousandths, within bounds; 0: nothing is known of it.
inline std::int64_t cores_of(const RunWorker& worker) {
    return std::clamp<std::int64_t>(worker.cores, 0, engine::model::most_size);
}

}  // namespace wq::views::model
