// What a worker has room for.
#include <algorithm>
#include <cmath>

#include "core/allocation.h"
#include "core/reactor.h"

namespace wq::core {

namespace {

// A worker's queue covers this much time of each task that it runs at once: the longest back-off of an idle
// MPI rank is 10 ms, twice.
constexpr double queue_cover_us = 20'000;
constexpr double queue_longest_task_us =
    1'000'000;  // longer tasks are not queued: a wait of 10 ms is below 1 %
constexpr std::int64_t queue_limit = 256;

// Whether `give` fits into `free`, and `times` as much of it besides.
bool fits_queued(const Resources& give, const Resources& free, std::int64_t times) {
    return give.fits_in({free.cores + times * give.cores, free.memory_mb + times * give.memory_mb,
                         free.disk_mb + times * give.disk_mb, free.gpus + times * give.gpus});
}

// `times` of the whole besides what is free.
Resources with_more(const Resources& free, const Resources& whole, double times) {
    const auto part = [&](std::int64_t amount) {
        return static_cast<std::int64_t>(static_cast<double>(amount) * times);
    };
    return {free.cores + Count::of_thousandths(part(whole.cores.thousandths())),
            free.memory_mb + part(whole.memory_mb), free.disk_mb + part(whole.disk_mb),
            free.gpus + Count::of_thousandths(part(whole.gpus.thousandths()))};
}

}  // namespace

// Whether an idle worker with `features` (sorted) can run it.
bool Reactor::ever_holds(const Resources& whole, const std::vector<std::string>& features,
                         ShapeId shape) const {
    const std::vector<std::string>& wanted = ledger_.shape(shape).features;
    const auto has = [&](const std::string& feature) {
        return std::binary_search(features.begin(), features.end(), feature);
    };
    return ever_fits(asked(shape), whole) && std::all_of(wanted.begin(), wanted.end(), has);
}

Resources Reactor::share(ShapeId shape, const Resources& whole) const {
    return allocate(asked(shape), whole, options_.allocation);
}

// As the ranks reckon it, whatever was tuned, said or learned since.
Resources Reactor::share_by_ticket(const Resources& whole) const {
    return allocate(batch_->ask, whole, batch_->rules);
}

bool Reactor::has_time(std::optional<Instant> leaves, const Shape& shape, Now now) {
    return !leaves || shape.min_time <= Duration{0} || now.instant + shape.min_time <= *leaves;
}

std::int64_t Reactor::queue_depth(ShapeId shape, const Worker& worker, const Resources& give) const {
    if (shape.value() >= shape_states_.size()) return 0;
    const double mean = shape_states_[shape.value()].mean_wall_us;
    if (mean < 0 || mean > queue_longest_task_us) return 0;
    const auto each = static_cast<std::int64_t>(std::ceil(queue_cover_us / std::max(mean, 100.0)));
    const std::int64_t at_once = how_many_fit(give, worker.whole);
    return std::min(queue_limit, each * std::max<std::int64_t>(at_once, 1));
}

// Whether it may run there at all, were nothing else there.
bool Reactor::could_ever_run(const Worker& worker, ShapeId shape) const {
    const std::vector<WorkerId>& named = ledger_.shape(shape).workers;
    return (named.empty() || std::find(named.begin(), named.end(), worker.id) != named.end()) &&
           ever_holds(worker.whole, worker.features, shape);
}

// And has the time to.
bool Reactor::could_hold(const Worker& worker, ShapeId shape, Now now) const {
    return has_time(worker.leaves_at, ledger_.shape(shape), now) && could_ever_run(worker, shape);
}

// Whether anything of the shape can go to it now, as far as its own room does not decide.
bool Reactor::is_open_to(const Worker& worker, ShapeId shape, bool suspect, Now now) const {
    if (worker.alone || !worker.available() || !could_hold(worker, shape, now) ||
        !has_room(ledger_.shape(shape)))
        return false;
    if (reserved_ && reserved_->worker == worker.id &&
        (reserved_->shape != shape || reserved_->suspect != suspect))
        return false;
    const Resources give = share(shape, worker.whole);
    const bool weightless = give.cores == 0 && give.gpus == 0;
    return !weightless || worker.leases.size() < static_cast<std::size_t>(most_weightless(worker.whole));
}

// The ready task of the shape that can be leased to `worker` now; of its suspects, or of the others.
std::optional<TaskId> Reactor::takes(const Worker& worker, ShapeId shape, bool suspect, Now now) const {
    if (!is_open_to(worker, shape, suspect, now)) return std::nullopt;
    if (suspect) return takes_suspect(worker, shape);
    const auto next = next_for(shape, worker);
    if (!next || has_more_urgent_tickets(worker, next->priority)) return std::nullopt;
    const Resources give = share(shape, worker.whole);
    if (worker.fits(give)) return next->task;
    // Beyond what runs at once, some more may wait in the launcher; but not while it is to give some back.
    if (worker.recalled > 0) return std::nullopt;
    const std::int64_t depth = queue_depth(shape, worker, give);
    const bool may_wait =
        (depth > 0 && fits_queued(give, worker.free(), depth)) ||
        (options_.submit_multiplier > 1 &&
         give.fits_in(with_more(worker.free(), worker.whole, options_.submit_multiplier - 1)));
    return may_wait ? std::optional(next->task) : std::nullopt;
}

// Nothing else will want it soon.
Resources Reactor::given_now(ShapeId shape, const Worker& worker) const {
    Resources give = share(shape, worker.whole);
    const Resources free = worker.free();
    const bool tail = options_.ramps_down && options_.monitoring.enforces &&
                      ledger_.count(TaskState::ready) < workers_.size() - workers_.away();
    if (!tail || give.cores == 0 || !worker.fits(give)) return give;
    const Count cores =
        worker.cores_held.any_parts() ? worker.cores_held.untouched(worker.whole.cores) : free.cores;
    return lowered_to({std::max(cores, give.cores), std::max(free.memory_mb, give.memory_mb),
                       std::max(free.disk_mb, give.disk_mb), give.gpus},
                      asked(shape).at_most);
}

std::optional<TaskId> Reactor::takes_suspect(const Worker& worker, ShapeId shape) const {
    const auto next = worker.suspect ? std::nullopt : next_suspect_for(shape, worker);
    if (!next) return std::nullopt;
    // On its last chance a task runs by itself: if its worker is lost again, it is the one.
    const bool fits = last_chance(*next)
                          ? worker.leases.empty() && !(batch_ && batch_->members.contains(worker.id))
                          : worker.fits(share(shape, worker.whole));
    return fits ? next : std::nullopt;
}

}  // namespace wq::core
