#include "engine/attempts/run_counters.h"

namespace wq::engine::attempts {

using model::add_bounded;

void RunCounters::count_ended(CategoryId category, const model::Outcome& outcome) {
    if (outcome.succeeded()) return count_successes(category, outcome.wall_us);
    count_for(category, [&](model::ManagerStats& stats) {
        add_bounded(stats.time_execute, outcome.wall_us);
        if (!is_exhaustion(outcome.ending)) return;
        ++stats.tasks_exhausted_attempts;
        add_bounded(stats.time_execute_exhaustion, outcome.wall_us);
    });
}

void RunCounters::count_successes(CategoryId category, std::int64_t wall_us) {
    count_for(category, [&](model::ManagerStats& stats) {
        add_bounded(stats.time_execute, wall_us);
        add_bounded(stats.time_execute_good, wall_us);
    });
}

}  // namespace wq::engine::attempts
