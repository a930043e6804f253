#include "engine/policies/slow_tasks.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/units.h"
#include "engine/model/outcome.h"

namespace wq::engine::policies {

namespace {

// If a worker was told to kill a task and does not report its end within this time, it has lost the task.
// Tasks of a disconnected worker are checked at the same interval.
constexpr Duration kill_grace = std::chrono::seconds(30);
// A slow task avoids its host or worker for its category's mean run time, if known, but at most this long.
constexpr Duration longest_avoided = std::chrono::minutes(1);

std::string times_the_mean(double factor) {
    std::string text = std::to_string(factor);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + " times the mean of its category";
}

}  // namespace

void SlowTasks::on(const FastAbortSet& event) {
    const bool before = watches_;
    run_times_.set(event.category, event.multiplier);
    watches_ = run_times_.watches();
    if (before == watches_) return;
    run_times_.forget();
    for (const auto& [id, worker] : workers_.all())
        for (const TaskId task : worker.leases) {
            Attempted& attempted = ledger_.attempted(task);
            if (attempted.worker != id) continue;  // its copy
            attempted.run_time.reset();
            if (!watches_) continue;
            watch(task, attempted);
            if (attempted.kill_ordered) look_again(task, attempted, now() + kill_grace);
        }
}

void SlowTasks::watch(TaskId task, Attempted& attempted) {
    attempted.run_time = RunTimeMark{state_.category_of(task), attempted.aborted, attempted.since, {}};
    run_times_.began(task, *attempted.run_time);
}

void SlowTasks::unwatch(TaskId task, Attempted& attempted) {
    run_times_.ended(task, *attempted.run_time);
    attempted.run_time.reset();
}

void SlowTasks::look_again(TaskId task, Attempted& attempted, Instant at) {
    run_times_.ended(task, *attempted.run_time);
    attempted.run_time->again_at = at;
    run_times_.began(task, *attempted.run_time);
}

void SlowTasks::tick() {
    while (const auto task = run_times_.due(now())) kill_slow(*task);
    while (const auto task = avoided_.over(now())) {
        avoided_.remove(*task);
        awaken(ledger_.shape_of(*task));
    }
}

// The worker's result may be on its way, so its first report counts. If it reports nothing, the task is taken
// from it, and may run in two places until the worker notices.
void SlowTasks::kill_slow(TaskId task) {
    Attempted& attempted = ledger_.attempted(task);
    const Worker& worker = *workers_.find(attempted.worker);
    if (state_.run.stopping() || worker.disconnected())
        return look_again(task, attempted, now() + kill_grace);
    event_.kill(worker.id, task, attempted.attempt);
    if (!attempted.kill_ordered) {
        attempted.kill_ordered = true;
        return look_again(task, attempted, now() + kill_grace);
    }
    Outcome outcome;
    outcome.wall_us = (now() - attempted.since) / std::chrono::microseconds(1);
    outcome.reason = "its worker has not said for " + format_duration(kill_grace) + " that it has ended it";
    attempts_.free(task);
    killed_as_slow(task, std::move(outcome));
}

// The kill order may have been lost with the connection.
void SlowTasks::lease_kept(TaskId task) {
    Attempted& attempted = ledger_.attempted(task);
    if (!attempted.kill_ordered || !attempted.run_time) return;
    event_.kill(attempted.worker, task, attempted.attempt);
    look_again(task, attempted, now() + kill_grace);
}

void SlowTasks::killed_as_slow(TaskId task, Outcome outcome) {
    const Attempted& attempted = ledger_.attempted(task);
    const CategoryId category = state_.category_of(task);
    outcome.ending = Ending::too_slow;
    if (const auto times = run_times_.multiplier(category); times && outcome.reason.empty())
        outcome.reason = "more than " +
                         times_the_mean(*times * static_cast<double>(1U << std::min(attempted.aborted, 30U)));
    counters_.count_fast_abort(category);
    const Worker* worker = workers_.find(attempted.worker);
    attempts_.try_again(task, TaskEvent::abort, std::move(outcome));
    if (ledger_.state(task) == TaskState::ready && worker != nullptr) avoid(task, *worker);
}

void SlowTasks::avoid(TaskId task, const Worker& worker) {
    const ShapeId shape = ledger_.shape_of(task);
    const bool elsewhere = pool_.some_host_holds(shape, &worker.host);
    const auto could_run = [&](WorkerId id) {
        const Worker& other = *workers_.find(id);
        return id != worker.id && other.available() && fit_.could_ever_run(other, shape);
    };
    if (!elsewhere && !std::ranges::any_of(*workers_.of_host(worker.host), could_run)) return;
    const Duration usual = run_times_.mean(ledger_.shape(shape).category).value_or(longest_avoided);
    avoided_.avoid_worker(task, worker, elsewhere,
                          now() + std::clamp<Duration>(usual, std::chrono::seconds(1), longest_avoided));
}

void SlowTasks::succeeded(TaskId task, const Outcome& outcome) {
    const Attempted& attempted = *ledger_.find_attempted(task);
    const Duration took = attempted.by_ticket ? wall_time(outcome) : now() - attempted.since;
    run_times_.succeeded(state_.category_of(task), 1, took);
}

void SlowTasks::range_succeeded(const Worker&, ShapeId shape, std::uint64_t tasks, Duration all, Duration) {
    run_times_.succeeded(ledger_.shape(shape).category, tasks, all);
}

std::optional<Instant> SlowTasks::next_due() const {
    const std::optional<Instant> slow = run_times_.next();
    const std::optional<Instant> avoided = avoided_.next_end();
    return slow && avoided ? std::min(*slow, *avoided) : slow ? slow : avoided;
}

std::optional<std::string> SlowTasks::audit() const {
    if (auto wrong = run_times_.audit()) return wrong;
    if (auto wrong = avoided_.audit()) return wrong;
    std::size_t watched = 0;
    for (const auto& [id, worker] : workers_.all())
        for (const TaskId task : worker.leases) {
            const Attempted* attempted = ledger_.find_attempted(task);
            if (attempted->worker != id) continue;  // its copy
            if (attempted->run_time.has_value() != watches_)
                return "task " + std::to_string(task.value()) + (watches_ ? " is not timed" : " is timed");
            if (attempted->run_time) ++watched;
        }
    if (watched != run_times_.running()) return "tasks that do not run are timed";
    return std::nullopt;
}

namespace {

constexpr int places_looked_at = 8;  // of one kind
constexpr Duration shortest_copy_pause = std::chrono::seconds(1);
constexpr Duration longest_copy_pause = std::chrono::minutes(1);
// After this many stragglers in a row find no worker, the others are checked later.
constexpr int most_in_vain = 16;

}  // namespace

void SpeculativeCopies::tuned(const Tuned& event) {
    if (!event.copies_from) return;
    run_times_.set(CategoryId(0), *event.copies_from);
    on_ = run_times_.watches();
    run_times_.forget();
    for (const auto& [id, worker] : workers_.all())
        for (const TaskId task : worker.leases) {
            Attempted& attempted = ledger_.attempted(task);
            if (attempted.worker != id) continue;
            attempted.straggling.reset();
            leased(task, attempted);
        }
}

// Some tasks get no copy: two attempts would produce the same output files, and a call that cannot be killed
// would run to its end twice.
void SpeculativeCopies::watch(TaskId task, Attempted& attempted) {
    const Shape& shape = state_.shape_of(task);
    if (shape.leased_only || shape.unstoppable || state_.copies.contains(task)) return;
    attempted.straggling = RunTimeMark{shape.category, 0, attempted.since, {}};
    run_times_.began(task, *attempted.straggling);
}

void SpeculativeCopies::unwatch(TaskId task, Attempted& attempted) {
    run_times_.ended(task, *attempted.straggling);
    attempted.straggling.reset();
}

void SpeculativeCopies::watch_later(TaskId task, Attempted& attempted) {
    const Duration usual = run_times_.mean(attempted.straggling->category).value_or(longest_copy_pause);
    run_times_.ended(task, *attempted.straggling);
    attempted.straggling->again_at =
        now() + std::clamp<Duration>(usual, shortest_copy_pause, longest_copy_pause);
    run_times_.began(task, *attempted.straggling);
}

// Neither leases nor tickets wait for a worker.
bool SpeculativeCopies::nothing_waits() const {
    return ledger_.ready_shapes().empty() && ledger_.suspect_shapes().empty() && !state_.batch &&
           state_.avoided.empty();
}

void SpeculativeCopies::tick() {
    if (now() < pause_until_ || !run_times_.due(now())) return;
    pause_until_ = now() + shortest_copy_pause;
    if (!fit_.dispatches() || !nothing_waits()) return;
    int in_vain = 0;
    while (const auto task = run_times_.due(now())) {
        Attempted& attempted = ledger_.attempted(*task);
        Worker* worker = nullptr;
        if (attempted.losses == 0 && !attempted.kill_ordered) worker = room_elsewhere(*task);
        if (worker != nullptr) {
            unwatch(*task, attempted);
            attempts_.copy(*task, *worker);
            continue;
        }
        if (++in_vain > most_in_vain) return;
        watch_later(*task, attempted);
    }
    pause_until_ = now();
}

// A worker with room for the task, preferably on another host among those that are checked.
Worker* SpeculativeCopies::room_elsewhere(TaskId task) {
    const ShapeId shape = ledger_.shape_of(task);
    const Shape& what = ledger_.shape(shape);
    const Worker* first = workers_.find(ledger_.attempted(task).worker);
    Worker* best = nullptr;
    const auto consider = [&](WorkerId id) {
        Worker* worker = workers_.find(id);
        counters_.count_look();
        if (worker == nullptr || worker == first) return false;
        const auto give = fit_.open_share(*worker, shape, Among::others);
        if (!give || !worker->fits(*give)) return false;
        if (best == nullptr || best->host == first->host) best = worker;
        return best->host != first->host;
    };
    for (const WorkerId id : what.workers)
        if (consider(id)) return best;
    if (!what.workers.empty()) return best;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        if (!fit_.ever_holds(kind.at_most.whole, kind.at_most.features, shape)) continue;
        const std::span<const Scarce> orders = orders_for(fit_.share(shape, kind.at_most.whole));
        for (const Scarce scarce : orders) {
            workers_.keep_order(scarce);
            const Places& places = of_kind.by(scarce);
            int looked = 0;
            for (auto place = places.begin(); place != places.end() && ++looked <= places_looked_at; ++place)
                if (consider(place->id)) return best;
        }
    }
    return best;
}

void SpeculativeCopies::succeeded(TaskId task, const Outcome& outcome) {
    const Attempted& attempted = *ledger_.find_attempted(task);
    const Duration took = attempted.by_ticket ? wall_time(outcome) : now() - attempted.since;
    run_times_.succeeded(state_.category_of(task), 1, took);
}

void SpeculativeCopies::range_succeeded(const Worker&, ShapeId shape, std::uint64_t tasks, Duration all,
                                        Duration) {
    run_times_.succeeded(ledger_.shape(shape).category, tasks, all);
}

std::optional<Instant> SpeculativeCopies::next_due() const {
    const auto next = run_times_.next();
    if (!next) return std::nullopt;
    return std::max(*next, pause_until_);
}

std::optional<std::string> SpeculativeCopies::audit() const {
    if (auto wrong = run_times_.audit()) return wrong;
    return state_.copies.audit(ledger_, workers_);
}

}  // namespace wq::engine::policies
