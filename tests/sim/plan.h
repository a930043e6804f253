// A random list, the fate of each task, and the required end of the run.
#pragma once

#include <random>
#include <vector>

#include "engine/model/events.h"
#include "engine/model/ledger.h"
#include "sim/faults.h"

namespace wq::sim {

using Random = std::mt19937_64;
inline bool chance(Random& random, double p) {
    return std::uniform_real_distribution<double>(0, 1)(random) < p;
}
inline std::uint64_t below(Random& random, std::uint64_t end) {
    return random() % end;
}
inline Duration up_to(Random& random, Duration most) {
    return Duration(static_cast<Duration::rep>(below(random, static_cast<std::uint64_t>(most.count()) + 1)));
}

struct PlannedTask {
    engine::model::Shape shape;
    std::vector<engine::model::GroupTag> groups;
    bool barrier_before = false;
    Duration wall{0};
    std::uint32_t failures = 0;   // failures before the first success
    std::uint32_t exhausts = 0;   // attempts that then exceed the worker's memory
    std::uint32_t slow_runs = 0;  // attempts that take many times as long
    std::int64_t peak_mb = 0;     // peak memory where it is measured; below every worker's memory
    bool kills_worker = false;
    bool fits = true;
    bool cancelled = false;                                               // set during the run
    bool late = false;                                                    // expired or killed at its end time
    engine::model::TaskState before = engine::model::TaskState::blocked;  // done or failed in an earlier run
};

struct PlannedWorker {
    engine::model::Resources offers;
    bool takes_tickets = false;
    bool tcp = false;
    std::uint32_t node = 0;
    Duration joins_after{0};
};

struct Plan {
    std::vector<PlannedTask> tasks;
    std::vector<PlannedWorker> workers;
    std::vector<engine::model::CategorySet> categories;

    // The required final state of each task, by the documented rules.
    std::vector<engine::model::TaskState> verdict() const;
};

Plan make_plan(const Faults& faults, Random& random);

}  // namespace wq::sim
