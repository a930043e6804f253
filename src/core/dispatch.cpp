// Which task goes to which worker.
//
// Ready tasks go in the order of the list, shape by shape; a shape that fits nowhere now is passed over. The worker with
// the most free cores takes the next one, so that work spreads. Where attempts of a shape are short, a worker is leased a
// few more than it can run at once: they wait in its launcher, so that no core waits for a message.
#include <algorithm>
#include <cmath>

#include "core/reactor.h"

namespace wq::core {

namespace {

// A worker's queue covers this much time of each core: the longest back-off of an idle MPI rank is 10 ms, twice.
constexpr double queue_cover_us = 20'000;
constexpr double queue_longest_task_us = 1'000'000;  // longer tasks are not queued: a wait of 10 ms is below 1 %
constexpr std::int64_t queue_limit = 256;

constexpr int shapes_looked_at = 64;
constexpr int workers_looked_at = 64;
// A task passed over so often gets a worker kept free for it.
constexpr std::uint64_t patience = 200;

}  // namespace

std::int64_t Reactor::queue_depth(ShapeId shape, const Worker& worker) const {
    if (shape.value() >= shape_states_.size() || stop_) return 0;
    const double mean = shape_states_[shape.value()].mean_wall_us;
    if (mean < 0 || mean > queue_longest_task_us) return 0;
    const auto per_core = static_cast<std::int64_t>(std::ceil(queue_cover_us / std::max(mean, 100.0)));
    return std::min(queue_limit, per_core * std::max<std::int64_t>(worker.whole.cores, 1));
}

bool Reactor::takes(const Worker& worker, ShapeId shape, Now now) const {
    const Shape& what = ledger_.shape(shape);
    const Resources give = allocate(what.needs, worker.whole);
    if (!give.fits_in(worker.whole)) return false;
    if (worker.leaves_at && what.min_time > Duration{0} && now.instant + what.min_time > *worker.leaves_at) return false;
    if (reserved_ && reserved_->second == worker.id && reserved_->first != shape) return false;
    Resources free = worker.whole;
    free -= worker.used;
    if (give.fits_in(free)) return true;
    // Beyond what runs at once: `depth` more of them may wait in the launcher.
    const std::int64_t depth = queue_depth(shape, worker);
    if (depth == 0 || worker.recalling) return false;
    return give.cores <= free.cores + depth * give.cores && give.memory_mb <= free.memory_mb + depth * give.memory_mb &&
           give.disk_mb <= free.disk_mb + depth * give.disk_mb && give.gpus <= free.gpus + depth * give.gpus;
}

Worker* Reactor::worker_for(ShapeId shape, Now now, bool suspect) {
    const Shape& what = ledger_.shape(shape);
    const auto fit = [&](Worker* worker) {
        return worker != nullptr && takes(*worker, shape, now) && !(suspect && worker->suspect);
    };
    if (!what.workers.empty()) {
        for (const WorkerId id : what.workers)
            if (Worker* worker = workers_.find(id); fit(worker)) return worker;
        return nullptr;
    }
    int looked = 0;
    for (const auto& [free, id] : workers_.by_free_cores()) {
        if (++looked > workers_looked_at) break;
        if (Worker* worker = workers_.find(id); fit(worker)) return worker;
    }
    return nullptr;
}

void Reactor::lease(Worker& worker, TaskId task, ShapeId shape, Now now, Actions& actions) {
    const Shape& what = ledger_.shape(shape);
    const bool suspect = ledger_.suspects().contains(task);
    ledger_.change(task, TaskEvent::lease);
    Attempted& attempted = ledger_.attempted(task);
    ++attempted.attempt;
    attempted.worker = worker.id;
    attempted.given = allocate(what.needs, worker.whole);
    attempted.dispatched_us = now.wall;
    workers_.lease(worker, task, attempted.given);
    if (suspect) worker.suspect = task;
    ++counters_.tasks_dispatched;
    actions.push_back(Lease{worker.id, task, attempted.attempt, attempted.given, what.timeout, std::max<std::int64_t>(what.needs.memory_mb, 0)});
}

bool Reactor::dispatch_suspects(Now now, Actions& actions) {
    std::vector<TaskId> heads;
    for (const TaskId task : ledger_.suspects()) {
        heads.push_back(task);
        if (heads.size() == static_cast<std::size_t>(shapes_looked_at)) break;
    }
    bool any = false;
    for (const TaskId task : heads) {
        const ShapeId shape = ledger_.shape_of(task);
        Worker* worker = worker_for(shape, now, true);
        if (worker == nullptr) {
            skip_what_fits_nowhere(shape, now, actions);
            continue;
        }
        lease(*worker, task, shape, now, actions);
        any = true;
    }
    return any;
}

std::uint64_t Reactor::dispatch_shape(ShapeId shape, Now now, Actions& actions) {
    std::uint64_t leased = 0;
    while (const auto head = ledger_.ready(shape).front()) {
        Worker* worker = worker_for(shape, now, false);
        if (worker == nullptr) break;
        lease(*worker, TaskId(head->first), shape, now, actions);
        if (reserved_ && reserved_->first == shape) reserved_.reset();
        ++leased;
    }
    return leased;
}

void Reactor::dispatch(Now now, Actions& actions) {
    if (stop_ || storage_trouble_ || finished_) return;
    seal_where_tasks_abound(actions);
    while (dispatch_suspects(now, actions)) {
    }
    std::vector<ShapeId> shapes;
    for (const auto& [head, shape] : ledger_.ready_shapes()) {
        shapes.push_back(shape);
        if (shapes.size() == static_cast<std::size_t>(shapes_looked_at)) break;
    }
    std::vector<ShapeId> stuck;
    for (const ShapeId shape : shapes) {
        const std::uint64_t leased = dispatch_shape(shape, now, actions);
        if (leased > 0)
            for (const ShapeId before : stuck) state_of(before).passed_over += leased;
        if (ledger_.ready(shape).empty()) {
            state_of(shape).passed_over = 0;
            continue;
        }
        stuck.push_back(shape);
        skip_what_fits_nowhere(shape, now, actions);
        if (reserved_ || state_of(shape).passed_over < patience || ledger_.ready(shape).empty()) continue;
        // The worker that will be free for it soonest, as far as cores tell.
        for (const auto& [free, id] : workers_.by_free_cores()) {
            const Worker& worker = *workers_.find(id);
            if (!allocate(ledger_.shape(shape).needs, worker.whole).fits_in(worker.whole)) continue;
            reserved_ = {shape, id};
            state_of(shape).passed_over = 0;
            break;
        }
    }
}

void Reactor::skip_what_fits_nowhere(ShapeId shape, Now now, Actions& actions) {
    if (!pool_complete(now) || state_of(shape).unfit_checked_at == pool_version_) return;
    state_of(shape).unfit_checked_at = pool_version_;
    const Shape& what = ledger_.shape(shape);
    const auto holds_it = [&](const Worker& worker) {
        return allocate(what.needs, worker.whole).fits_in(worker.whole) &&
               (!worker.leaves_at || now.instant + what.min_time <= *worker.leaves_at);
    };
    if (what.workers.empty()) {
        for (const auto& [id, worker] : workers_.all())
            if (holds_it(worker)) return;
    } else {
        for (const WorkerId id : what.workers)
            if (const Worker* worker = workers_.find(id); worker != nullptr && holds_it(*worker)) return;
    }
    IntervalSet tasks = ledger_.ready(shape);
    for (const TaskId task : ledger_.suspects())
        if (ledger_.shape_of(task) == shape) tasks.insert(task.value());
    const std::string reason = why_nowhere(what);
    skip(tasks, reason, std::nullopt, actions);
    std::vector<TaskId> failed;
    tasks.for_each([&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) failed.emplace_back(id);
    });
    for (const TaskId task : failed) apply(groups_.failed(task), now, actions);
}

std::string Reactor::why_nowhere(const Shape& shape) const {
    if (workers_.empty()) return "no worker is left";
    if (!shape.workers.empty()) {
        std::string ids;
        for (const WorkerId id : shape.workers) ids += (ids.empty() ? "" : ", ") + std::to_string(id.value());
        return "worker " + ids + " is not there or too small for " + describe(shape.needs);
    }
    Resources largest;
    for (const auto& [id, worker] : workers_.all()) {
        largest.cores = std::max(largest.cores, worker.whole.cores);
        largest.memory_mb = std::max(largest.memory_mb, worker.whole.memory_mb);
        largest.disk_mb = std::max(largest.disk_mb, worker.whole.disk_mb);
        largest.gpus = std::max(largest.gpus, worker.whole.gpus);
    }
    return "needs " + describe(shape.needs) + ", no worker has that; the largest have " + describe(largest);
}

bool Reactor::someone_idles_while_leases_queue() const {
    const auto& by_free = workers_.by_free_cores();
    if (stop_ || by_free.size() < 2 || !ledger_.ready_shapes().empty()) return false;
    return by_free.begin()->first < 0 && by_free.rbegin()->first > 0 && !workers_.find(by_free.rbegin()->second)->recalling;
}

void Reactor::recall_for_idle_workers(Actions& actions) {
    if (!someone_idles_while_leases_queue()) return;
    const std::int64_t idle = -workers_.by_free_cores().begin()->first;
    const auto [queued, id] = *workers_.by_free_cores().rbegin();
    workers_.find(id)->recalling = true;
    actions.push_back(Recall{id, static_cast<std::uint64_t>(std::min(idle, queued))});
}

}  // namespace wq::core
