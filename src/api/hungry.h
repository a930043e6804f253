// How many more tasks a program should submit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/model/manager_stats.h"

namespace wq::api {

struct HungryLimits {
    double minimum = 10;        // tasks: `hungry-minimum`
    double minimum_factor = 2;  // tasks per worker: `hungry-minimum-factor`
};

// How many tasks to submit so that enough wait for the workers, by the manual's rule of thumb; 0: enough do.
inline std::int64_t hungry(const engine::model::ManagerStats& stats, const HungryLimits& limits = {}) {
    constexpr double most = 1e15;  // a larger number is no task count
    const double enough =
        std::max(limits.minimum, limits.minimum_factor * static_cast<double>(stats.workers_connected));
    const double lacking = enough - static_cast<double>(stats.tasks_waiting);
    return static_cast<std::int64_t>(std::ceil(std::clamp(lacking, 0.0, most)));
}

}  // namespace wq::api
