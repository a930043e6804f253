#include "engine/policies/unfit_tasks.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace wq::engine::policies {

namespace {

constexpr std::size_t most_shapes_looked_at = 64;
constexpr std::size_t most_functions_kept = 100'000;
// A larger worker may be about to join, so the user is told only if none has joined for this long,
constexpr Duration time_to_grow = std::chrono::seconds(5);
// or at the latest after this.
constexpr Duration longest_growth = std::chrono::minutes(1);

}  // namespace

void UnfitTasks::worker_joined(const Worker& worker) {
    for (const std::string& feature : worker.features)
        if (feature.starts_with(function_feature) && functions_.size() < most_functions_kept)
            functions_.insert(feature);
}

// ---- the pool is complete ----

void UnfitTasks::skip_all() {
    if (!look_at_all_ || !pool_.settled()) return;
    look_at_all_ = false;
    for (std::uint32_t shape = 0; shape < ledger_.shapes(); ++shape) awakened(ShapeId(shape));
}

void UnfitTasks::awakened(ShapeId shape) {
    if (!pool_.settled() || workers_.empty() || ledger_.ready(shape).empty() || pool_.fits_somewhere(shape))
        return;
    attempts_.skip_ready(shape, [&](IntervalSet tasks) { return fits_nowhere(std::move(tasks), shape); });
}

Skipped UnfitTasks::fits_nowhere(IntervalSet tasks, ShapeId id) const {
    const Shape& shape = ledger_.shape(id);
    if (!shape.workers.empty()) {
        std::string ids;
        for (const WorkerId one : shape.workers)
            ids += (ids.empty() ? "" : ", ") + std::to_string(one.value());
        return {std::move(tasks),
                "worker " + ids + " is not there or too small for " + model::describe(state_.asked(id)),
                std::nullopt, "let the task name other workers, or none"};
    }
    return {std::move(tasks), "needs " + pool_.what_is_missing(id), std::nullopt,
            pool_.some_share_a_host()
                ? "start fewer ranks per node, which makes larger workers, or let the task ask for less"
                : "let the task ask for less"};
}

// ---- workers come and go ----

void UnfitTasks::pool_changed(PoolChange change) {
    if (!state_.options.wait_for_fitting) return;
    if (!warn_at_) {
        warn_at_ = now() + time_to_grow;
        warn_by_ = now() + longest_growth;
    } else if (change == PoolChange::more_workers) {
        warn_at_ = std::min(now() + time_to_grow, warn_by_);
    }
}

// Time alone can make a task unfit, where no event of the pool shows it.
void UnfitTasks::note_idling() {
    const bool idles = ledger_.count(TaskState::ready) > 0 &&
                       ledger_.count(TaskState::leased) + ledger_.count(TaskState::sealed) == 0;
    if (idles && !idles_) pool_changed(PoolChange::less_room);
    idles_ = idles;
}

std::optional<Instant> UnfitTasks::next_due() const {
    return state_.run.stopping() || workers_.empty() ? std::nullopt : warn_at_;
}

// Each shape is reported once. A function that no worker ever had counts as misspelt if workers had other
// functions; workers without any function say nothing about that.
void UnfitTasks::warn_of_waiting() {
    note_idling();
    if (!warn_at_ || now() < *warn_at_ || state_.run.stopping() || workers_.empty()) return;
    warn_at_.reset();
    std::vector<ShapeId> waiting;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (waiting.size() == most_shapes_looked_at) break;
        waiting.push_back(head.shape);
    }
    warn_of_blocked(waiting);
    for (const ShapeId shape : waiting) {
        const Shape& what = ledger_.shape(shape);
        if (pool_.fits_somewhere(shape)) {
            if (!pool_.could_run_in_time(shape) && warned_late_.insert(shape).second)
                act(Warning{"tasks wait for a worker with at least " + format_duration(what.min_time) +
                            " left (min-time)"});
        } else if (is_misspelt(what)) {
            attempts_.skip_ready(shape, [&](IntervalSet tasks) {
                return Skipped{std::move(tasks), "no worker has " + describe(what.features), std::nullopt,
                               "they have " + some_functions()};
            });
        } else if (warned_.insert(shape).second) {
            act(Warning{"tasks wait for a worker with " + pool_.what_is_missing(shape)});
        }
    }
}

// Reported once, until a host is unblocked.
void UnfitTasks::warn_of_blocked(const std::vector<ShapeId>& waiting) {
    for (const ShapeId shape : waiting) {
        const std::string hosts = pool_.blocked_hosts_for(shape);
        if (hosts.empty() || std::exchange(warned_blocked_, true)) continue;
        act(Warning{"tasks wait, and all hosts that could run them are blocked: " + hosts +
                    "; unblock_host() or unblock_all() ends that"});
    }
}

bool UnfitTasks::is_misspelt(const Shape& shape) const {
    return shape.features.size() == 1 && shape.features.front().starts_with(function_feature) &&
           !functions_.empty() && !functions_.contains(shape.features.front());
}

std::string UnfitTasks::some_functions() const {
    constexpr std::size_t most_named = 10;
    std::vector<std::string> named;
    for (const std::string& function : functions_)
        if (named.size() < most_named) named.push_back(function);
    return describe(named) + (named.size() < functions_.size() ? ", and more" : "");
}

}  // namespace wq::engine::policies
