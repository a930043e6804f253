// Tasks that no worker of the run can hold.
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/reactor.h"

namespace wq::core {

namespace {
constexpr std::size_t most_shapes_told = 64;

bool some_share_a_host(const WorkerTable& workers) {
    std::set<std::string_view> hosts;
    return std::any_of(workers.all().begin(), workers.all().end(),
                       [&](const auto& each) { return !hosts.insert(each.second.host).second; });
}

// Both are sorted.
bool has_all(const Offer& offer, const std::vector<std::string>& features) {
    return std::includes(offer.features.begin(), offer.features.end(), features.begin(), features.end());
}

void raise_to(Resources& largest, const Resources& offer) {
    largest.cores = std::max(largest.cores, offer.cores);
    largest.memory_mb = std::max(largest.memory_mb, offer.memory_mb);
    largest.disk_mb = std::max(largest.disk_mb, offer.disk_mb);
    largest.gpus = std::max(largest.gpus, offer.gpus);
}

bool offers_enough(const Offer& offer, const Ask& ask, const Shape& shape) {
    return ever_fits(ask, offer.whole) && has_all(offer, shape.features);
}
}  // namespace

std::string describe(const std::vector<std::string>& features) {
    std::string text;
    for (const std::string& feature : features) {
        text += text.empty() ? "" : ", ";
        if (feature.starts_with(function_feature))
            text += "function '" + feature.substr(function_feature.size()) + "'";
        else
            text += "feature " + feature;
    }
    return text;
}

// Of any worker, whichever the task names.
bool Reactor::fits_an_offer(const Ask& ask, const Shape& shape) const {
    return std::any_of(workers_.offers().begin(), workers_.offers().end(),
                       [&](const auto& each) { return offers_enough(each.first, ask, shape); });
}

// A worker that has no time left for it counts as one that holds it: the next job of the run has more time.
// So does one that is away, or is about to leave: until it has left.
bool Reactor::fits_somewhere(const Ask& ask, const Shape& shape) const {
    if (shape.workers.empty()) return fits_an_offer(ask, shape);
    return std::any_of(shape.workers.begin(), shape.workers.end(), [&](WorkerId id) {
        const Worker* worker = workers_.find(id);
        return worker != nullptr && offers_enough(worker->offer(), ask, shape);
    });
}

// Whether a worker that is not there now will not come any more.
bool Reactor::pool_is_judged(Now now) const {
    return !options_.wait_for_fitting && options_.expected_workers > 0 && now.instant >= settled_at_;
}

void Reactor::skip_what_fits_nowhere(ShapeId shape, Now now, Actions& actions) {
    if (!pool_is_judged(now) || workers_.empty() || ledger_.ready(shape).empty() || fits_somewhere(shape))
        return;
    const auto why = [&](IntervalSet tasks) { return fits_nowhere(std::move(tasks), shape); };
    skip_ready(shape, why, actions);
}

// All that is ready of the shape.
void Reactor::skip_ready(ShapeId shape, const std::function<Skipped(IntervalSet)>& why, Actions& actions) {
    const ReadyTasks queues = ledger_.ready(shape);
    IntervalSet all;
    const auto one_by_one = [&](Interval part) {
        all.insert(part);
        for (std::uint64_t id = part.first; id < part.end; ++id) {
            if (last_chance(TaskId(id))) --last_chances_;
            ledger_.change(TaskId(id), TaskEvent::skip);
        }
        stop_avoiding(part);
    };
    for (const auto& [priority, queue] : queues.queues) {
        queue.fresh.for_each([&](Interval part) {
            all.insert(part);
            ledger_.change(part, TaskEvent::skip);
        });
        queue.again.for_each(one_by_one);
    }
    queues.suspects.for_each(one_by_one);
    actions.push_back(why(all));
    all.for_each([&](Interval part) { apply(groups_.failed(part), actions); });
}

// The pool has changed, or tasks wait that did not.
void Reactor::tell_what_waits_later(Now now, bool grew) {
    if (!options_.wait_for_fitting) return;
    if (!tell_waits_at_) {
        tell_waits_at_ = now.instant + time_to_grow;
        tell_waits_by_ = now.instant + longest_growth;
    } else if (grew) {
        tell_waits_at_ = std::min(now.instant + time_to_grow, tell_waits_by_);
    }
}

// Where workers come and go, tasks wait for one that holds them, and that is said, once of each shape. A
// function that none has ever had is misspelt, where others have come: plain workers say nothing about that.
void Reactor::tell_what_waits(Now now, Actions& actions) {
    if (!tell_waits_at_ || now.instant < *tell_waits_at_ || stop_ || workers_.empty()) return;
    tell_waits_at_.reset();
    std::vector<ShapeId> waiting;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (waiting.size() == most_shapes_told) break;
        waiting.push_back(head.shape);
    }
    tell_what_is_blocked(waiting, actions);
    for (const ShapeId shape : waiting) {
        if (fits_somewhere(shape)) continue;
        const Shape& what = ledger_.shape(shape);
        if (is_misspelt(what)) {
            skip_ready(
                shape,
                [&](IntervalSet tasks) {
                    return Skipped{std::move(tasks), "no worker has " + describe(what.features), std::nullopt,
                                   "they have " + some_functions()};
                },
                actions);
        } else if (!std::exchange(state_of(shape).told_waiting, true)) {
            actions.push_back(Warning{"tasks wait for a worker with " + what_is_missing(shape)});
        }
    }
}

// Once, until a host gets tasks again.
void Reactor::tell_what_is_blocked(const std::vector<ShapeId>& waiting, Actions& actions) {
    for (const ShapeId shape : waiting) {
        const std::string hosts = blocked_hosts_for(shape);
        if (hosts.empty() || std::exchange(told_blocked_, true)) continue;
        actions.push_back(Warning{"tasks wait, and all hosts that could run them are blocked: " + hosts +
                                  "; unblock_host() or unblock_all() ends that"});
    }
}

bool Reactor::is_misspelt(const Shape& shape) const {
    return shape.features.size() == 1 && shape.features.front().starts_with(function_feature) &&
           !functions_seen_.empty() && !functions_seen_.contains(shape.features.front());
}

std::string Reactor::what_is_missing(ShapeId shape) const {
    const std::vector<std::string>& wanted = ledger_.shape(shape).features;
    const bool has_features = std::any_of(workers_.offers().begin(), workers_.offers().end(),
                                          [&](const auto& each) { return has_all(each.first, wanted); });
    if (!has_features) return describe(wanted) + ", which none of those that are here has";
    return describe(asked(shape)) + (wanted.empty() ? "" : " and " + describe(wanted)) + "; " +
           largest_with(wanted, " of those that are here");
}

std::string Reactor::some_functions() const {
    constexpr std::size_t most_named = 10;
    std::vector<std::string> named;
    for (const std::string& function : functions_seen_)
        if (named.size() < most_named) named.push_back(function);
    return describe(named) + (named.size() < functions_seen_.size() ? ", and more" : "");
}

void Reactor::note_functions(const Worker& worker) {
    for (const std::string& feature : worker.features)
        if (feature.starts_with(function_feature) && functions_seen_.size() < most_functions_seen)
            functions_seen_.insert(feature);
}

Resources Reactor::largest_here() const {
    Resources largest;
    for (const auto& [offer, count] : workers_.offers()) raise_to(largest, offer.whole);
    return largest;
}

// In words that no task can take for a worker that has it all; `which`: "the largest<which> have ...".
std::string Reactor::largest_with(const std::vector<std::string>& features, const std::string& which) const {
    const bool some_have = std::any_of(workers_.offers().begin(), workers_.offers().end(),
                                       [&](const auto& each) { return has_all(each.first, features); });
    Resources with_most_cores;
    Resources of_each;
    for (const auto& [offer, count] : workers_.offers()) {
        if (some_have && !has_all(offer, features)) continue;
        with_most_cores = std::max(with_most_cores, offer.whole);
        raise_to(of_each, offer.whole);
    }
    return with_most_cores == of_each
               ? "the largest" + which + " have " + describe(of_each)
               : "none" + which + " has all of it at once: the one with most cores has " +
                     describe(with_most_cores);
}

Skipped Reactor::fits_nowhere(IntervalSet tasks, ShapeId id) const {
    const Shape& shape = ledger_.shape(id);
    const std::string wanted = describe(asked(id));
    if (!shape.workers.empty()) {
        std::string ids;
        for (const WorkerId one : shape.workers)
            ids += (ids.empty() ? "" : ", ") + std::to_string(one.value());
        return {std::move(tasks), "worker " + ids + " is not there or too small for " + wanted, std::nullopt};
    }
    const std::string features = shape.features.empty() ? "" : " and " + describe(shape.features);
    return {
        std::move(tasks), "needs " + wanted + features + ", no worker has that", std::nullopt,
        largest_with(shape.features, "") +
            (some_share_a_host(workers_) ? "; start fewer ranks per node, which makes larger workers, or let"
                                         : "; let") +
            " the task ask for less"};
}

}  // namespace wq::core
