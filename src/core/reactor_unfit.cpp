// Tasks that no worker of the run can hold.
#include <algorithm>

#include "core/reactor.h"

namespace wq::core {

// A worker that has no time left for it counts as one that holds it: the next job of the run has more time.
// So does one that is away, or is about to leave: until it has left.
bool Reactor::fits_somewhere(ShapeId shape) const {
    const Shape& what = ledger_.shape(shape);
    if (what.workers.empty())
        return std::any_of(workers_.offers().begin(), workers_.offers().end(), [&](const auto& each) {
            return ever_holds(each.first.whole, each.first.features, what);
        });
    return std::any_of(what.workers.begin(), what.workers.end(), [&](WorkerId id) {
        const Worker* worker = workers_.find(id);
        return worker != nullptr && ever_holds(worker->whole, worker->features, what);
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
    IntervalSet all;
    const auto one_by_one = [&](Interval part) {
        all.insert(part);
        for (std::uint64_t id = part.first; id < part.end; ++id) {
            if (last_chance(TaskId(id))) --last_chances_;
            ledger_.change(TaskId(id), TaskEvent::skip);
        }
    };
    for (const auto& [priority, queue] : queues.queues) {
        queue.fresh.for_each([&](Interval part) {
            all.insert(part);
            ledger_.change(part, TaskEvent::skip);
        });
        queue.again.for_each(one_by_one);
    }
    queues.suspects.for_each(one_by_one);
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
    std::string features;
    for (const std::string& feature : shape.features) features += (features.empty() ? "" : ", ") + feature;
    if (!features.empty()) features = " and the features " + features;
    Resources largest;
    for (const auto& [offer, count] : workers_.offers()) {
        largest.cores = std::max(largest.cores, offer.whole.cores);
        largest.memory_mb = std::max(largest.memory_mb, offer.whole.memory_mb);
        largest.disk_mb = std::max(largest.disk_mb, offer.whole.disk_mb);
        largest.gpus = std::max(largest.gpus, offer.whole.gpus);
    }
    return {std::move(tasks), "needs " + describe(shape.needs) + features + ", no worker has that",
            std::nullopt,
            "the largest have " + describe(largest) +
                "; start fewer ranks per node, which makes larger workers, or let the task ask for less"};
}

}  // namespace wq::core
