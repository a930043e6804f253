#include "engine/policies/speculative_copies.h"

#include <algorithm>
#include <span>

#include "engine/model/outcome.h"

namespace wq::engine::policies {

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
        ++state_.looks;
        if (worker == nullptr || worker == first) return false;
        const auto give = fit_.open_share(*worker, shape, false);
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
    run_times_.succeeded(state_.shape_of(task).category, 1, took);
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
