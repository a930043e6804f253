#include "engine/model/ready_times.h"

#include <algorithm>
#include <iterator>

namespace wq::engine::model {

namespace {

// Neighbours that become ready within this time are one part; the later ones' time is then too early by at
// most this.
constexpr WallMicros same_time_us = 1'000'000;

}  // namespace

void ReadyTimes::insert(Interval tasks) {
    tasks.end = std::min(tasks.end, first_new_);
    if (tasks.first >= tasks.end) return;
    const auto after = times_.lower_bound(tasks.first);
    if (after != times_.begin()) {
        Part& before = std::prev(after)->second;
        if (before.end == tasks.first && before.at <= now_ && now_ - before.at < same_time_us) {
            before.end = tasks.end;
            return;
        }
    }
    times_.emplace_hint(after, tasks.first, Part{tasks.end, now_});
}

void ReadyTimes::erase_known(Interval tasks) {
    auto part = times_.upper_bound(tasks.first);
    if (part != times_.begin()) --part;
    while (part != times_.end() && part->first < tasks.end) {
        const Interval known{part->first, part->second.end};
        if (known.end <= tasks.first) {
            ++part;
            continue;
        }
        const WallMicros at = part->second.at;
        part = times_.erase(part);
        if (known.first < tasks.first) times_.emplace(known.first, Part{tasks.first, at});
        if (known.end > tasks.end) times_.emplace(tasks.end, Part{known.end, at});
    }
}

std::optional<WallMicros> ReadyTimes::find_known(std::uint64_t task) const {
    const auto after = times_.upper_bound(task);
    if (after == times_.begin()) return std::nullopt;
    const Part& part = std::prev(after)->second;
    return task < part.end ? std::optional(part.at) : std::nullopt;
}

std::optional<std::string> ReadyTimes::audit(WallMicros latest) const {
    std::uint64_t end = 0;
    for (const auto& [first, part] : times_) {
        if (first < end || part.end <= first) return "times of ready tasks overlap or are empty";
        if (part.at > latest) return "a task becomes ready in the future";
        end = part.end;
    }
    return std::nullopt;
}

}  // namespace wq::engine::model
