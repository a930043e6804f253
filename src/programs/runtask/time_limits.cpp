#include "programs/runtask/time_limits.h"

#include <utility>

namespace wq::programs::runtask {

namespace {

constexpr Duration between_kills = std::chrono::milliseconds(200);

}  // namespace

void TimeLimits::begin(TaskKey key, std::optional<Instant> limit, std::unique_ptr<LineProcesses> processes) {
    const std::lock_guard lock(mutex_);
    if (end_at_once_.erase(key) != 0) limit = instant_now();
    lines_[key] = {limit, std::move(processes), false};
}

void TimeLimits::end_now(TaskKey key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = lines_.find(key); found != lines_.end())
        found->second.limit = instant_now();
    else
        end_at_once_.insert(key);
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
        line.limit = now + between_kills;
        if (!line.processes->runs()) continue;  // not yet, or no more
        line.processes->kill(!line.exceeded);
        line.exceeded = true;
    }
}

std::optional<Instant> TimeLimits::next() const {
    const std::lock_guard lock(mutex_);
    std::optional<Instant> next;
    for (const auto& [key, line] : lines_) earliest(next, line.limit);
    return next;
}

}  // namespace wq::programs::runtask
