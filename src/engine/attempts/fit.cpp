#include "engine/attempts/fit.h"

#include <algorithm>
#include <cmath>

namespace wq::engine::attempts {

namespace {

// A later end time counts as no limit (100 years, which still fits in nanoseconds).
constexpr WallMicros no_limit_us = 3'155'760'000'000'000;

// Whether `give` fits into `free` plus `times` times `give`.
bool fits_queued(const Resources& give, const Resources& free, std::int64_t times) {
    return give.fits_in({free.cores + times * give.cores, free.memory_mb + times * give.memory_mb,
                         free.disk_mb + times * give.disk_mb, free.gpus + times * give.gpus,
                         free.coprocesses + times * give.coprocesses});
}

// `free` plus `times` times `whole`.
Resources with_more(const Resources& free, const Resources& whole, double times) {
    const auto part = [&](std::int64_t amount) {
        return static_cast<std::int64_t>(static_cast<double>(amount) * times);
    };
    return {free.cores + Count::of_thousandths(part(whole.cores.thousandths())),
            free.memory_mb + part(whole.memory_mb), free.disk_mb + part(whole.disk_mb),
            free.gpus + Count::of_thousandths(part(whole.gpus.thousandths())),
            free.coprocesses + part(whole.coprocesses)};
}

// The memory limit that the user set. A category that only measures enforces none.
std::int64_t memory_limit(const Shape& shape, const Category& category, const Monitoring& monitoring) {
    if (shape.needs.memory_mb > 0) return shape.needs.memory_mb;
    const bool only_measured = monitoring.measures && !monitoring.enforces;
    return only_measured ? unsaid : category.max().memory_mb;
}

}  // namespace

bool Fit::ever_holds(const Resources& whole, const std::vector<std::string>& features, ShapeId shape) const {
    const std::vector<std::string>& wanted = state_.ledger.shape(shape).features;
    const auto has = [&](const std::string& feature) {
        return std::binary_search(features.begin(), features.end(), feature);
    };
    return ever_fits(state_.asked(shape), whole) && std::all_of(wanted.begin(), wanted.end(), has);
}

bool Fit::could_ever_run(const Worker& worker, ShapeId shape) const {
    const std::vector<WorkerId>& named = state_.ledger.shape(shape).workers;
    return (named.empty() || std::find(named.begin(), named.end(), worker.id) != named.end()) &&
           ever_holds(worker.whole, worker.features, shape);
}

bool Fit::could_hold(const Worker& worker, ShapeId shape, Instant at) const {
    return has_time(worker.leaves_at, state_.ledger.shape(shape), at) && could_ever_run(worker, shape);
}

std::optional<Resources> Fit::open_share(const Worker& worker, ShapeId shape, bool suspect) const {
    if (worker.alone || !worker.available() || !could_hold(worker, shape) ||
        !one_more_may_run(state_.ledger.shape(shape)))
        return std::nullopt;
    if (state_.reserved && state_.reserved->worker == worker.id &&
        (state_.reserved->shape != shape || state_.reserved->suspect != suspect))
        return std::nullopt;
    const Resources give = share(shape, worker.whole);
    const bool weightless = give.cores == 0 && give.gpus == 0 && give.coprocesses == 0;
    if (weightless && worker.leases.size() >= static_cast<std::size_t>(most_weightless(worker.whole)))
        return std::nullopt;
    return give;
}

bool Fit::run_has_room() const {
    const Ledger& ledger = state_.ledger;
    return state_.options.most_running == 0 ||
           ledger.count(TaskState::leased) + ledger.count(TaskState::sealed) + state_.copies.size() <
               state_.options.most_running;
}

bool Fit::below_limit(const Shape& shape) const {
    const Category& category = state_.categories[shape.category.value()].category;
    return category.max_concurrent() < 0 ||
           category.has_room(state_.ledger.count(shape.category, TaskState::leased) +
                             state_.ledger.count(shape.category, TaskState::sealed));
}

Resources Fit::given_now(ShapeId shape, const Worker& worker) const {
    Resources give = share(shape, worker.whole);
    const Resources free = worker.free();
    const bool tail = state_.options.ramps_down && state_.options.monitoring.enforces &&
                      state_.ledger.count(TaskState::ready) < state_.connected_workers();
    if (!tail || give.cores == 0 || !worker.fits(give)) return give;
    const Count cores =
        worker.cores_held.any_parts() ? worker.cores_held.untouched(worker.whole.cores) : free.cores;
    return lowered_to({std::max(cores, give.cores), std::max(free.memory_mb, give.memory_mb),
                       std::max(free.disk_mb, give.disk_mb), give.gpus},
                      state_.asked(shape).at_most);
}

std::int64_t Fit::queue_depth(ShapeId shape, const Worker& worker, const Resources& give) const {
    const model::MeanWallTime* const mean = state_.mean_wall.find(shape);
    if (mean == nullptr) return 0;
    // Queued tasks keep their allocation, often a whole worker, although the category soon learns that they
    // need less. A few hundred queued short tasks would all keep it.
    const Shape& what = state_.ledger.shape(shape);
    const Category& category = state_.categories[what.category.value()].category;
    const bool learns = category.mode() != AllocationMode::fixed && !category.steady();
    if (learns && (state_.options.monitoring.measures || what.measured)) return 0;
    return model::queue_depth(*mean, std::max<std::int64_t>(how_many_fit(give, worker.whole), 1));
}

bool Fit::may_queue(ShapeId shape, const Worker& worker, const Resources& give) const {
    // The worker was asked to return a part of its queue.
    if (worker.recalled > 0) return false;
    const std::int64_t depth = queue_depth(shape, worker, give);
    if (depth > 0 && fits_queued(give, worker.free(), depth)) return true;
    const double multiplier = state_.options.submit_multiplier;
    return multiplier > 1 && give.fits_in(with_more(worker.free(), worker.whole, multiplier - 1));
}

Duration Fit::time_for(TaskId task) const {
    const Duration timeout = state_.shape_of(task).timeout;
    const auto& end = state_.ledger.times(task).not_after;
    if (!end || *end > no_limit_us) return timeout;
    const Duration left = std::chrono::microseconds(std::max<WallMicros>(*end - state_.now.wall, 1));
    return timeout > Duration{0} ? std::min(timeout, left) : left;
}

bool Fit::ended_by_its_end_time(TaskId task, const Outcome& outcome) const {
    const auto& end = state_.ledger.times(task).not_after;
    if (!end || outcome.ending != Ending::timed_out || state_.now.wall < *end) return false;
    const Duration timeout = state_.shape_of(task).timeout;
    const WallMicros begun = state_.ledger.find_attempted(task)->dispatched_us;
    return timeout <= Duration{0} || *end - begun <= timeout / std::chrono::microseconds(1);
}

Watch Fit::watch_of(ShapeId id, const Resources& given) const {
    const Shape& shape = state_.ledger.shape(id);
    const Monitoring& monitoring = state_.options.monitoring;
    Watch watch;
    watch.measures = monitoring.measures || shape.measured;
    watch.series = monitoring.series;
    const Category& category = state_.categories[shape.category.value()].category;
    const std::int64_t memory_mb = memory_limit(shape, category, monitoring);
    if (state_.options.limits_memory && memory_mb > 0) watch.limits.memory_mb = memory_mb;
    if (!monitoring.enforces) return watch;
    if (given.cores > 0) watch.limits.cores = given.cores.thousandths();
    if (given.memory_mb > 0) watch.limits.memory_mb = given.memory_mb;
    if (given.disk_mb > 0) watch.limits.disk_mb = given.disk_mb;
    return watch;
}

bool Fit::dispatches() const {
    return !state_.stopping && !state_.storage_trouble && state_.ledger.expired().empty() &&
           state_.connected_workers() >= state_.hold_until_workers;
}

}  // namespace wq::engine::attempts
