// A random list, what will become of each of its tasks, and how the run must end.
#pragma once

#include <random>
#include <vector>

#include "core/events.h"
#include "core/ledger.h"
#include "sim/weather.h"

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
    core::Shape shape;
    std::vector<core::GroupTag> groups;
    bool barrier_before = false;
    Duration wall{0};
    std::uint32_t failures = 0;   // so often it fails by itself before it succeeds
    std::uint32_t exhausts = 0;   // so often it uses up the memory of its worker, behind its failures
    std::uint32_t slow_runs = 0;  // so often it takes many times as long
    std::int64_t peak_mb = 0;     // of memory, where that is measured; less than any worker has
    bool kills_worker = false;
    bool fits = true;
    bool cancelled = false;                             // so it was decided while it ran
    bool late = false;                                  // ended by its end time
    core::TaskState before = core::TaskState::blocked;  // done or failed: by an earlier run
};

struct PlannedWorker {
    core::Resources offers;
    bool takes_tickets = false;
    bool tcp = false;
    std::uint32_t node = 0;
    Duration joins_after{0};
};

struct Plan {
    std::vector<PlannedTask> tasks;
    std::vector<PlannedWorker> workers;
    std::vector<core::CategorySet> categories;

    // The state in which each task must be at the end, by the rules as users know them.
    std::vector<core::TaskState> verdict() const;
};

Plan make_plan(const Weather& weather, Random& random);

}  // namespace wq::sim
