#include "factory/sizing.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace wq::factory {

namespace {

// What a worker's size does not say, it has enough of; but without a word it has no GPU.
void ignore_unsaid(engine::model::Needs& needs, engine::model::Resources& size) {
    if (size.cores == 0 && needs.cores != 0) needs.cores = -1, size.cores = most_cores;
    if (size.memory_mb == 0) needs.memory_mb = -1, size.memory_mb = most_mb;
    if (size.disk_mb == 0) needs.disk_mb = -1, size.disk_mb = most_mb;
}

// How many tasks of these needs one worker runs at once; 0: it is too small for any.
std::int64_t tasks_at_once(const Demand& demand, engine::model::Resources size, const PoolLimits& limits) {
    std::int64_t fit = 1;
    if (size != engine::model::Resources{}) {
        engine::model::Needs needs = demand.needs;
        // It is unknown how many coprocesses a worker will start; by default one for each core.
        if (needs.remote()) needs = {1, -1, -1, -1};
        ignore_unsaid(needs, size);
        fit = engine::model::how_many_fit(engine::model::allocate(needs, size, demand.rules), size);
    }
    return fit > 0 ? limits.tasks_per_worker.value_or(fit) : 0;
}

}  // namespace

std::optional<double> workers_for(const Demand& demand, const engine::model::Resources& size,
                                  const PoolLimits& limits) {
    const std::int64_t at_once = tasks_at_once(demand, size, limits);
    if (at_once <= 0) return std::nullopt;
    return static_cast<double>(demand.tasks) / static_cast<double>(at_once);
}

Decision decide(const std::vector<Demand>& demand, const engine::model::Resources& size, const Supply& supply,
                const PoolLimits& limits) {
    Decision decision;
    double filled = 0;  // workers; tasks of different needs share one
    for (const Demand& some : demand) {
        if (const auto workers = workers_for(some, size, limits))
            filled += *workers;
        else
            decision.unfit += some.waiting;
    }
    const auto served = static_cast<double>(limits.capacity.value_or(limits.most + supply.others));
    const auto needed = static_cast<std::int64_t>(std::min(std::ceil(filled), served));
    decision.wanted = std::clamp(needed - supply.others, std::min(limits.least, limits.most), limits.most);
    const std::int64_t unconnected = supply.starting + supply.pending;
    const std::int64_t missing = decision.wanted - supply.connected - unconnected;
    const std::int64_t room = limits.unconnected > 0 ? limits.unconnected - unconnected : missing;
    decision.submit = std::max<std::int64_t>(std::min(missing, room), 0);
    decision.remove = std::clamp<std::int64_t>(-missing, 0, supply.pending);
    return decision;
}

}  // namespace wq::factory
