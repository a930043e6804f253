#include "api/shapes.h"

#include <algorithm>

namespace wq::api {

namespace {

// Smaller ranges are leased call by call, like plain tasks, and need no batch of their own.
constexpr std::uint64_t large_range = 256;

Duration seconds(std::int64_t count) {
    constexpr std::int64_t most = std::int64_t{100} * 365 * 24 * 3600;
    return std::chrono::seconds(std::clamp<std::int64_t>(count, 0, most));
}

// Five retries are six tries, as in Work Queue.
std::uint32_t losses(std::int64_t max_retries) {
    if (max_retries < 1) return 0;
    return static_cast<std::uint32_t>(std::min<std::int64_t>(max_retries, UINT32_MAX - 1)) + 1;
}

}  // namespace

core::Shape shape_of(const TaskData& task) {
    core::Shape shape;
    shape.priority = task.priority;
    if (task.kind == TaskKind::range && task.count() >= large_range)
        shape.kind = static_cast<std::uint64_t>(task.id);
    if (!task.specs) return shape;
    const TaskSpecs& specs = *task.specs;
    const auto need = [](std::int64_t said) { return std::max<std::int64_t>(said, -1); };
    shape.needs = {need(specs.needs.cores), need(specs.needs.memory), need(specs.needs.disk),
                   need(specs.needs.gpus)};
    shape.timeout = seconds(specs.running_time_max);
    shape.min_time = seconds(specs.running_time_min);
    shape.max_losses = losses(specs.max_retries);
    shape.features = specs.features;
    std::sort(shape.features.begin(), shape.features.end());
    if (specs.start_time_min > 0) shape.not_before = specs.start_time_min;
    if (specs.end_time > 0) shape.not_after = specs.end_time;
    return shape;
}

}  // namespace wq::api
