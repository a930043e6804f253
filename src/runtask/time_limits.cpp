#include "runtask/time_limits.h"

#include <utility>

namespace wq::runtask {

namespace {

constexpr Duration between_kills = std::chrono::milliseconds(200);

}  // namespace

void TimeLimits::begin(TaskKey key, std::optional<Instant> limit, std::unique_ptr<LineProcesses> processes) {
    const std::lock_guard lock(mutex_);
    lines_[key] = {limit, std::move(processes), false};
}

bool TimeLimits::end_now(TaskKey key) {
    const std::lock_guard lock(mutex_);
    const auto found = lines_.find(key);
    if (found == lines_.end()) return false;
    found->second.limit = instant_now();
    return true;
}

bool TimeLimits::end(TaskKey key) {
    const std::lock_guard lock(mutex_);
    const auto ended = lines_.extract(key);
    if (ended.empty() || !ended.mapped().exceeded) return false;
    ended.mapped().processes->kill(false);
    return true;
}

void TimeLimits::enforce(Instant now) {
    const std::lock_guard lock(mutex_);
    for (auto& [key, line] : lines_) {
        if (!line.limit || *line.limit > now) continue;
        line.limit.reset();
        if (!line.processes->runs()) continue;
        line.processes->kill(!line.exceeded);
        line.exceeded = true;
        line.limit = now + between_kills;
    }
}

std::optional<Instant> TimeLimits::next() const {
    const std::lock_guard lock(mutex_);
    std::optional<Instant> next;
    for (const auto& [key, line] : lines_) earliest(next, line.limit);
    return next;
}

}  // namespace wq::runtask
