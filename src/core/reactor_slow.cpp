// Fast abort: tasks that take much longer than the others of their category are ended and run again, on
// another host where there is one.
#include <algorithm>

#include "base/units.h"
#include "core/reactor.h"
#include "core/wall_time.h"

namespace wq::core {

namespace {
// Who was told to end a task and has not said that it did so after this time has lost it. A worker that is
// away is looked at as often.
constexpr Duration patience = std::chrono::seconds(30);
// A task that was too slow on a host waits for another one so long at most; else a mean run time.
constexpr Duration longest_avoided = std::chrono::minutes(1);

std::string times_the_mean(double factor) {
    std::string text = std::to_string(factor);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + " times the mean of its category";
}
}  // namespace

void Reactor::on_event(const FastAbortSet& event, Now now, Actions&) {
    const bool before = watches_pace_;
    pace_.set(event.category, event.multiplier);
    watches_pace_ = pace_.watches();
    if (before == watches_pace_) return;
    pace_.forget();
    for (const auto& [id, worker] : workers_.all())
        for (const TaskId task : worker.leases) {
            Attempted& attempted = ledger_.attempted(task);
            if (attempted.worker != id) continue;  // its copy
            attempted.pace.reset();
            if (!watches_pace_) continue;
            watch_pace(task, attempted);
            if (attempted.told_to_end) look_again(task, attempted, now.instant + patience);
        }
}

void Reactor::watch_pace(TaskId task, Attempted& attempted) {
    attempted.pace =
        PaceMark{ledger_.shape(ledger_.shape_of(task)).category, attempted.aborted, attempted.since, {}};
    pace_.began(task, *attempted.pace);
}

void Reactor::unwatch_pace(TaskId task, Attempted& attempted) {
    if (!attempted.pace) return;
    pace_.ended(task, *attempted.pace);
    attempted.pace.reset();
}

void Reactor::look_again(TaskId task, Attempted& attempted, Instant at) {
    pace_.ended(task, *attempted.pace);
    attempted.pace->again_at = at;
    pace_.began(task, *attempted.pace);
}

void Reactor::end_what_is_slow(Now now, Actions& actions) {
    while (const auto task = pace_.due(now.instant)) end_slow(*task, now, actions);
    end_what_was_avoided_long_enough(now);
}

// The worker may have its result under way: what it says first is true. Only if it says nothing the task is
// taken from it, and may then run in two places until it has noticed.
void Reactor::end_slow(TaskId task, Now now, Actions& actions) {
    Attempted& attempted = ledger_.attempted(task);
    const Worker& worker = *workers_.find(attempted.worker);
    if (stop_ || worker.away()) return look_again(task, attempted, now.instant + patience);
    tell_to_kill(worker.id, {task.value(), task.value() + 1}, attempted.attempt, actions);
    if (!attempted.told_to_end) {
        attempted.told_to_end = true;
        return look_again(task, attempted, now.instant + patience);
    }
    Outcome outcome;
    outcome.wall_us = (now.instant - attempted.since) / std::chrono::microseconds(1);
    outcome.reason = "its worker has not said for " + format_duration(patience) + " that it has ended it";
    free_lease(task);
    abort_attempt(task, std::move(outcome), now, actions);
}

// The link was cut, and the order may be lost with it.
void Reactor::tell_again_to_end(TaskId task, Now now, Actions& actions) {
    Attempted& attempted = ledger_.attempted(task);
    if (!attempted.told_to_end || !attempted.pace) return;
    tell_to_kill(attempted.worker, {task.value(), task.value() + 1}, attempted.attempt, actions);
    look_again(task, attempted, now.instant + patience);
}

// It has been ended, by our order or as good as.
void Reactor::abort_attempt(TaskId task, Outcome outcome, Now now, Actions& actions) {
    const Attempted& attempted = ledger_.attempted(task);
    const CategoryId category = ledger_.shape(ledger_.shape_of(task)).category;
    outcome.ending = Ending::too_slow;
    if (const auto times = pace_.multiplier(category); times && outcome.reason.empty())
        outcome.reason = "more than " +
                         times_the_mean(*times * static_cast<double>(1U << std::min(attempted.aborted, 30U)));
    count_for(task, [](ManagerStats& stats) { ++stats.workers_fast_aborted; });
    const Worker* worker = workers_.find(attempted.worker);
    const std::string host = worker == nullptr ? "" : worker->host;
    try_again(task, TaskEvent::abort, std::move(outcome), now, actions);
    if (ledger_.state(task) != TaskState::ready || host.empty()) return;
    const Duration usual = pace_.mean(category).value_or(longest_avoided);
    const Instant until = now.instant + std::clamp<Duration>(usual, std::chrono::seconds(1), longest_avoided);
    avoid(task, host, until);
}

std::optional<Instant> Reactor::next_slow() const {
    std::optional<Instant> next = pace_.next();
    if (!avoided_until_.empty())
        next = std::min(next.value_or(Instant::max()), avoided_until_.begin()->first);
    return next;
}

// What succeeded, as its category's mean has it.
void Reactor::learn_pace(TaskId task, const Outcome& outcome, Now now) {
    const Attempted& attempted = ledger_.attempted(task);
    const CategoryId category = ledger_.shape(ledger_.shape_of(task)).category;
    const Duration took = attempted.by_ticket ? wall_time(outcome) : now.instant - attempted.since;
    pace_.succeeded(category, 1, took);
    stragglers_.succeeded(category, 1, took);
}

std::optional<std::string> Reactor::audit_pace() const {
    if (auto wrong = pace_.audit()) return wrong;
    std::size_t watched = 0;
    for (const auto& [id, worker] : workers_.all())
        for (const TaskId task : worker.leases) {
            const Attempted* attempted = ledger_.find_attempted(task);
            if (attempted->worker != id) continue;  // its copy
            if (attempted->pace.has_value() != watches_pace_)
                return "task " + std::to_string(task.value()) +
                       (watches_pace_ ? " is not timed" : " is timed");
            if (attempted->pace) ++watched;
        }
    if (watched != pace_.running()) return "tasks that do not run are timed";
    return std::nullopt;
}

}  // namespace wq::core
