// Tasks that no worker of the run can hold.
#include <algorithm>

#include "core/reactor.h"

namespace wq::core {

// A worker that has no time left for it counts as one that holds it: the next job of the run has more time.
// So does one that is away, or is about to leave: until it has left.
bool Reactor::fits_somewhere(ShapeId shape) const {
    const Shape& what = ledger_.shape(shape);
    const auto fits = [&](const Resources& whole) { return allocate(what.needs, whole).fits_in(whole); };
    const auto any = [&](const auto& kinds) {
        return std::any_of(kinds.begin(), kinds.end(),
                           [&](const auto& each) { return fits(each.first.whole); });
    };
    if (what.workers.empty()) return any(workers_.kinds()) || any(workers_.other_kinds());
    return std::any_of(what.workers.begin(), what.workers.end(), [&](WorkerId id) {
        const Worker* worker = workers_.find(id);
        return worker != nullptr && fits(worker->whole);
    });
}

// Whether a worker that is not there now will not come any more.
bool Reactor::pool_is_judged(Now now) const {
    return !options_.wait_for_fitting && options_.expected_workers > 0 && now.instant >= settled_at_;
}

void Reactor::skip_what_fits_nowhere(ShapeId shape, Now now, Actions& actions) {
    if (!pool_is_judged(now) || workers_.empty() || ledger_.ready(shape).empty() || fits_somewhere(shape))
        return;
    const ReadyTasks queues = ledger_.ready(shape);
    IntervalSet all = queues.fresh;
    queues.fresh.for_each([&](Interval part) { ledger_.change(part, TaskEvent::skip); });
    for (const IntervalSet* queue : {&queues.again, &queues.suspects})
        queue->for_each([&](Interval part) {
            all.insert(part);
            for (std::uint64_t id = part.first; id < part.end; ++id) {
                if (last_chance(TaskId(id))) --last_chances_;
                ledger_.change(TaskId(id), TaskEvent::skip);
            }
        });
    actions.push_back(fits_nowhere(all, ledger_.shape(shape)));
    all.for_each([&](Interval part) { apply(groups_.failed(part), actions); });
}

Skipped Reactor::fits_nowhere(IntervalSet tasks, const Shape& shape) const {
    if (!shape.workers.empty()) {
        std::string ids;
        for (const WorkerId id : shape.workers) ids += (ids.empty() ? "" : ", ") + std::to_string(id.value());
        return {std::move(tasks), "worker " + ids + " is not there or too small for " + describe(shape.needs),
                std::nullopt};
    }
    Resources largest;
    const auto widen = [&](const WorkerKind& kind) {
        largest.cores = std::max(largest.cores, kind.whole.cores);
        largest.memory_mb = std::max(largest.memory_mb, kind.whole.memory_mb);
        largest.disk_mb = std::max(largest.disk_mb, kind.whole.disk_mb);
        largest.gpus = std::max(largest.gpus, kind.whole.gpus);
    };
    for (const auto& [kind, workers] : workers_.kinds()) widen(kind);
    for (const auto& [kind, workers] : workers_.other_kinds()) widen(kind);
    return {std::move(tasks), "needs " + describe(shape.needs) + ", no worker has that", std::nullopt,
            "the largest have " + describe(largest) +
                "; start fewer ranks per node, which makes larger workers, or let the task ask for less"};
}

}  // namespace wq::core
