// Why a task is not running, in one line.
#include <algorithm>

#include "base/units.h"
#include "core/reactor.h"

namespace wq::core {

namespace {

std::string count_of(std::size_t count, const char* one, const char* more) {
    return std::to_string(count) + " " + (count == 1 ? one : more);
}

}  // namespace

std::string Reactor::why(TaskId task, Now now) const {
    if (task.value() >= ledger_.size()) return "not now: the manager has yet to take it in";
    switch (ledger_.state(task)) {
        case TaskState::blocked:
            return "not now: it waits for others, by a group or a barrier of its list";
        case TaskState::ready:
            return why_not_given_out(task, now);
        case TaskState::leased: {
            const Attempted& attempted = *ledger_.find_attempted(task);
            const Worker& worker = *workers_.find(attempted.worker);
            return "it is with worker " + std::to_string(worker.id.value()) + " on " + worker.host +
                   ", as attempt " + std::to_string(attempted.attempt) + ", and has " +
                   describe(attempted.given) + " there" +
                   (worker.away() ? "; that worker's link is cut, and may come back" : "");
        }
        case TaskState::sealed:
            return "a rank takes it by ticket, or has taken it";
        default:
            return "it has ended";
    }
}

std::string Reactor::why_not_given_out(TaskId task, Now now) const {
    const ShapeId shape = ledger_.shape_of(task);
    const Shape& what = ledger_.shape(shape);
    if (storage_trouble_)
        return "not now: results cannot be written, and until they can nothing is given out";
    if (stop_) return "never: the run is being stopped";
    const auto not_before = ledger_.times(task).not_before;
    if (not_before && *not_before > now.wall)
        return "not now: it is to start in " +
               format_duration(std::chrono::microseconds(*not_before - now.wall)) + " at the earliest";
    if (hold_until_workers_ > 0)
        return "not now: nothing is given out before " +
               count_of(hold_until_workers_, "worker was", "workers were") + " there at once";
    if (workers_.empty()) return "not now: no worker is there";
    std::size_t able = 0;
    std::size_t taking = 0;
    for (const auto& [id, worker] : workers_.all()) {
        if (!could_hold(worker, shape, now)) continue;
        ++able;
        if (worker.available()) ++taking;
    }
    if (able == 0 && !what.workers.empty())
        return "never: none of the workers that it names is there and has room";
    if (able == 0)
        return "not before a larger worker comes: it needs " + what_is_missing(shape) +
               (what.min_time > Duration{0} ? "; and " + format_duration(what.min_time) + " of their time"
                                            : "");
    if (const std::string hosts = blocked_hosts_for(shape); !hosts.empty())
        return "not now: all hosts that could run it are blocked: " + hosts +
               "; unblock_host() or unblock_all() ends that";
    if (!has_room(what)) return "not now: as many tasks of its category run as may at once";
    if (const auto avoided = avoided_.find(task); avoided != avoided_.end())
        return "not now: it was too slow on " + avoided->second.host + ", and waits for another host for " +
               format_duration(avoided->second.until - now.instant) + " more";
    if (taking == 0)
        return "not now: " + count_of(able, "worker that could run it ends, or its link is cut",
                                      "workers that could run it end, or their links are cut");
    return "not now: it gets " + describe(share(shape, largest_for(shape, now))) + ", and " +
           count_of(taking, "worker that could run it is busy", "workers that could run it are busy");
}

// The worker that it is given the most of, among those that could hold it.
Resources Reactor::largest_for(ShapeId shape, Now now) const {
    Resources largest;
    for (const auto& [id, worker] : workers_.all())
        if (worker.available() && could_hold(worker, shape, now) && worker.whole.cores > largest.cores)
            largest = worker.whole;
    return largest;
}

}  // namespace wq::core
