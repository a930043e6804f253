// Whether a program had better submit more tasks.
#pragma once

#include <algorithm>

#include "core/manager_stats.h"

namespace wq::core {

struct HungryLimits {
    double minimum = 10;        // tasks: `hungry-minimum`
    double minimum_factor = 2;  // tasks a worker: `hungry-minimum-factor`
};

// Fewer tasks wait than the workers will soon have done, by the manual's rule of thumb.
inline bool hungry(const ManagerStats& stats, const HungryLimits& limits = {}) {
    const double enough =
        std::max(limits.minimum, limits.minimum_factor * static_cast<double>(stats.workers_connected));
    return static_cast<double>(stats.tasks_waiting) < enough;
}

}  // namespace wq::core
