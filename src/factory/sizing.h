// Decides how many workers a factory keeps: as many as the tasks fill, between a minimum and a maximum. A
// pure function of what the managers and the batch system report, so it can be asked again at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/allocation.h"
#include "engine/model/resources.h"

namespace wq::factory {

// The tasks with equal needs, of all managers that the factory serves.
struct Demand {
    engine::model::Needs needs;
    std::uint64_t tasks = 0;    // waiting, and running on any worker
    std::uint64_t waiting = 0;  // of `tasks`
    engine::model::AllocationRules rules{};
};

struct Supply {
    std::int64_t connected = 0;  // our workers that serve a manager
    std::int64_t starting = 0;   // our jobs that run, without a connected worker yet
    std::int64_t pending = 0;    // our jobs that wait in the batch system
    std::int64_t others = 0;     // connected workers that are not ours
};

struct PoolLimits {
    std::int64_t least = 5;
    std::int64_t most = 100;
    // Of jobs without a connected worker: if new workers fail, few fail. 0: no such limit.
    std::int64_t unconnected = 5;
    std::optional<std::int64_t> tasks_per_worker{};  // replaces what follows from needs and size
    std::optional<std::int64_t> capacity{};          // workers, others included, that the managers can serve
};

struct Decision {
    std::int64_t wanted = 0;  // workers of ours, in all
    std::int64_t submit = 0;  // jobs
    std::int64_t remove = 0;  // pending jobs; running workers leave by themselves when idle
    std::uint64_t unfit = 0;  // waiting tasks that no worker of this size can run
    bool operator==(const Decision&) const = default;
};

// How many workers of this size the tasks fill; nullopt: such a worker is too small for them.
std::optional<double> workers_for(const Demand& demand, const engine::model::Resources& size,
                                  const PoolLimits& limits);

// `size`: of each worker, all zero if unknown; then each runs one task at a time. Errors: none; inconsistent
// limits count as least = most.
Decision decide(const std::vector<Demand>& demand, const engine::model::Resources& size, const Supply& supply,
                const PoolLimits& limits);

}  // namespace wq::factory
