// What a worker has room for.
#include <algorithm>
#include <cmath>

#include "core/reactor.h"

namespace wq::core {

namespace {

// A worker's queue covers this much time of each core: the longest back-off of an idle MPI rank is 10 ms,
// twice.
constexpr double queue_cover_us = 20'000;
constexpr double queue_longest_task_us =
    1'000'000;  // longer tasks are not queued: a wait of 10 ms is below 1 %
constexpr std::int64_t queue_limit = 256;

// Whether `give` fits into `free`, and `times` as much of it besides.
bool fits_queued(const Resources& give, const Resources& free, std::int64_t times) {
    return give.cores <= free.cores + times * give.cores &&
           give.memory_mb <= free.memory_mb + times * give.memory_mb &&
           give.disk_mb <= free.disk_mb + times * give.disk_mb && give.gpus <= free.gpus + times * give.gpus;
}

}  // namespace

bool ever_holds(const Resources& whole, const std::vector<std::string>& features, const Shape& shape) {
    const auto has = [&](const std::string& feature) {
        return std::binary_search(features.begin(), features.end(), feature);
    };
    return allocate(shape.needs, whole).fits_in(whole) &&
           std::all_of(shape.features.begin(), shape.features.end(), has);
}

bool Reactor::has_time(std::optional<Instant> leaves, const Shape& shape, Now now) {
    return !leaves || shape.min_time <= Duration{0} || now.instant + shape.min_time <= *leaves;
}

std::int64_t Reactor::queue_depth(ShapeId shape, const Worker& worker) const {
    if (shape.value() >= shape_states_.size()) return 0;
    const double mean = shape_states_[shape.value()].mean_wall_us;
    if (mean < 0 || mean > queue_longest_task_us) return 0;
    const auto per_core = static_cast<std::int64_t>(std::ceil(queue_cover_us / std::max(mean, 100.0)));
    return std::min(queue_limit, per_core * std::max<std::int64_t>(worker.whole.cores, 1));
}

// Whether it may run there at all, and has the time to.
bool Reactor::could_hold(const Worker& worker, ShapeId shape, Now now) const {
    const Shape& what = ledger_.shape(shape);
    if (!what.workers.empty() &&
        std::find(what.workers.begin(), what.workers.end(), worker.id) == what.workers.end())
        return false;
    return has_time(worker.leaves_at, what, now) && ever_holds(worker.whole, worker.features, what);
}

// Whether it can be leased to `worker` now; as a suspect, if one is named.
bool Reactor::takes(const Worker& worker, ShapeId shape, std::optional<TaskId> suspect, Now now) const {
    if (worker.alone || !worker.available() || !could_hold(worker, shape, now)) return false;
    if (reserved_ && reserved_->worker == worker.id &&
        (reserved_->shape != shape || reserved_->suspect != suspect.has_value()))
        return false;
    const Resources give = allocate(ledger_.shape(shape).needs, worker.whole);
    const bool weightless = give.cores == 0 && give.gpus == 0;
    if (weightless && worker.leases.size() >= static_cast<std::size_t>(most_weightless(worker.whole)))
        return false;
    if (suspect) {
        if (worker.suspect || avoids(*suspect, worker)) return false;
        // On its last chance a task runs by itself: if its worker is lost again, it is the one.
        if (last_chance(*suspect))
            return worker.leases.empty() && !(batch_ && batch_->members.contains(worker.id));
        return give.fits_in(worker.free());
    }
    if (has_more_urgent_tickets(worker, shape) || head_avoids(shape, worker)) return false;
    if (give.fits_in(worker.free())) return true;
    // Beyond what runs at once, some more may wait in the launcher; but not while it is to give some back.
    return worker.recalled == 0 && fits_queued(give, worker.free(), queue_depth(shape, worker));
}

}  // namespace wq::core
