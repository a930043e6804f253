#include "scheduling/dispatch.h"

#include <algorithm>
#include <span>
#include <utility>

namespace wq::scheduling {

namespace {

constexpr std::size_t shapes_looked_at = 64;
// Of one kind, in one order. If the roomiest are full, all those behind them run something, as the idle stand
// first, and look again when it ends.
constexpr int workers_looked_at = 8;
// Of one kind, before it is cut.
constexpr int too_small_looked_at = 8;
// A shape passed over so often gets a worker reserved for it.
constexpr std::uint64_t turns_before_reserving = 200;

// Before all with as much room and as much memory.
Place first_of(const Place& like, std::int64_t memory_mb) {
    return {like.room, like.busy, memory_mb, Instant::max(), WorkerId(0)};
}
// Behind all that have an end, too.
Place last_of(const Place& like) {
    return {like.room, like.busy, like.memory_mb, Instant::min(), unknown_worker};
}

}  // namespace

void Dispatch::dispatch() {
    state_.hold_until_workers = 0;
    std::vector<ShapeId> awakened = ledger_.take_awakened();
    awakened.insert(awakened.end(), state_.awakened.begin(), state_.awakened.end());
    state_.awakened.clear();
    for (const ShapeId shape : awakened) {
        hooks_.awakened(shape);
        spread_suspects(shape);
    }
    if (!awakened.empty()) {
        spread(awakened);
        hooks_.pool_changed(false);
    }
    // A lease may end a reservation, which gives room on another worker.
    for (auto changed = workers_.take_changed(); !changed.empty(); changed = workers_.take_changed())
        for (const WorkerId id : changed)
            if (Worker* worker = workers_.find(id); worker != nullptr && worker->available()) fill(*worker);
}

// ---- what a worker takes ----

// The ready task of the shape that can be leased to `worker` now, among its suspects or among the others.
std::optional<TaskId> Dispatch::takes(const Worker& worker, ShapeId shape, bool suspect) const {
    const auto give = fit_.open_share(worker, shape, suspect);
    if (!give) return std::nullopt;
    if (suspect) return takes_suspect(worker, shape, *give);
    const auto next = state_.avoided.next_for(shape, worker);
    if (!next || fit_.has_more_urgent_tickets(worker, next->priority)) return std::nullopt;
    if (!worker.fits(*give) && !fit_.may_queue(shape, worker, *give)) return std::nullopt;
    return next->task;
}

std::optional<TaskId> Dispatch::takes_suspect(const Worker& worker, ShapeId shape,
                                              const Resources& give) const {
    const auto next = worker.suspect ? std::nullopt : state_.avoided.next_suspect_for(shape, worker);
    if (!next) return std::nullopt;
    // On its last chance a task runs alone: if its worker is lost again, the task is to blame.
    const bool fits =
        attempts_.last_chance(*next)
            ? worker.leases.empty() && !(state_.batch && state_.batch->members.contains(worker.id))
            : worker.fits(give);
    return fits ? next : std::nullopt;
}

// ---- shapes look for workers ----

void Dispatch::spread_suspects(ShapeId shape) {
    while (!ledger_.ready(shape).suspects.empty()) {
        Worker* worker = roomiest(shape, true);
        if (worker == nullptr) return;
        lease(*worker, *takes(*worker, shape, true), shape);
    }
}

// A worker that got room besides may have it for tasks that are more urgent than those that look for one.
ShapeId Dispatch::most_urgent_for(const Worker& worker, const ReadyHead& head) const {
    if (!worker.has_changed) return head.shape;
    std::size_t looked = 0;
    for (const ReadyHead& other : ledger_.ready_shapes()) {
        if (!(other < head) || ++looked > shapes_looked_at) break;
        if (takes(worker, other.shape, false)) return other.shape;
    }
    return head.shape;
}

// Of several shapes, the most urgent task first.
void Dispatch::spread(const std::vector<ShapeId>& shapes) {
    ReadyShapes heads;
    for (const ShapeId shape : shapes)
        if (const auto head = ledger_.head(shape)) heads.insert(*head);
    while (!heads.empty()) {
        auto head = std::optional(heads.extract(heads.begin()).value());
        while (head) {
            const ShapeId shape = head->shape;
            Worker* worker = roomiest(shape, false);
            if (worker == nullptr) break;
            const ShapeId first = most_urgent_for(*worker, *head);
            lease(*worker, *takes(*worker, first, false), first);
            head = ledger_.head(shape);
            if (!head || heads.empty()) continue;
            heads.insert(*head);
            head.reset();
        }
    }
}

Worker* Dispatch::roomiest(ShapeId shape, bool suspect) {
    const Shape& what = ledger_.shape(shape);
    if (!fit_.category_has_room(what)) return nullptr;
    Worker* best = nullptr;
    std::int64_t most = 0;
    const auto consider = [&](Worker* worker, Scarce scarce) {
        if (worker == nullptr || (best != nullptr && worker->room(scarce) <= most)) return;
        best = worker;
        most = worker->room(scarce);
    };
    for (const WorkerId id : what.workers) {
        Worker* worker = workers_.find(id);
        ++state_.looks;
        if (worker != nullptr && takes(*worker, shape, suspect))
            consider(worker, orders_for(fit_.share(shape, worker->whole)).front());
    }
    if (!what.workers.empty()) return best;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        if (!fit_.ever_holds(kind.at_most.whole, kind.at_most.features, shape) ||
            !fit_.has_time(kind.leaves_by, what))
            continue;
        const std::span<const Scarce> orders = orders_for(fit_.share(shape, kind.at_most.whole));
        for (const Scarce scarce : orders) {
            workers_.keep_order(scarce);
            const auto found = roomiest_of(of_kind.by(scarce), shape, suspect);
            if (!found) return roomiest(shape, suspect);
            consider(*found, orders.front());
            if (*found != nullptr) break;
        }
    }
    return best;
}

// Of one kind. Nothing: the kinds were cut.
std::optional<Worker*> Dispatch::roomiest_of(const Places& places, ShapeId shape, bool suspect) {
    const Ask& ask = state_.asked(shape);
    const std::int64_t memory_mb = std::max(ask.needs.memory_mb, ask.at_least.memory_mb);
    const std::int64_t disk_mb = std::max(ask.needs.disk_mb, ask.at_least.disk_mb);
    int looked = 0;
    int too_small = 0;
    for (auto it = places.begin(); it != places.end();) {
        ++state_.looks;
        if (it->memory_mb < memory_mb) {
            it = places.lower_bound(first_of(*it, memory_mb));
            continue;
        }
        if (!fit_.has_time(it->leaves_at, ledger_.shape(shape))) {
            it = places.upper_bound(last_of(*it));
            continue;
        }
        Worker* const worker = workers_.find(it->id);
        // One with too little disk ends no search: nothing would make the others look again. If tasks ask for
        // disk in more sizes than there are cuts, all of the kind may be looked at.
        if (fit_.could_hold(*worker, shape)) {
            if (takes(*worker, shape, suspect)) return worker;
            // One that the task avoids says nothing about the others.
            if (state_.avoided.has_one_for(shape, suspect, *worker) && ++looked == workers_looked_at) break;
        } else if (++too_small == too_small_looked_at && workers_.split_by_disk(disk_mb)) {
            return std::nullopt;
        }
        ++it;
    }
    return nullptr;
}

// ---- workers look for tasks ----

void Dispatch::fill(Worker& worker) {
    fill_with_suspect(worker);
    if (worker.alone) return;
    fill_with_others(worker);
    // Everything is in a batch that this worker has no part in.
    if (state_.batch && worker.leases.empty() && !state_.batch->members.contains(worker.id) &&
        !state_.reserved && fit_.could_hold(worker, state_.batch->shape))
        state_.revoke_batch();
}

// Looks at the shapes with ready tasks that may run there, the most urgent first.
void Dispatch::fill_with_others(Worker& worker) {
    const ReadyShapes& any = ledger_.ready_shapes();
    const ReadyShapes& pinned = ledger_.ready_shapes_for(worker.id);
    auto a = any.begin();
    auto b = pinned.begin();
    std::uint64_t leased = 0;
    std::vector<std::pair<ShapeId, std::uint64_t>> passed_over;  // and how many were leased before
    // An idle worker looks at all: nothing would make it look again.
    for (std::size_t looked = 0; looked < shapes_looked_at || worker.leases.empty(); ++looked) {
        if (a == any.end() && b == pinned.end()) break;
        const bool from_any = b == pinned.end() || (a != any.end() && *a < *b);
        const ReadyHead head = from_any ? *a : *b;
        if (const auto task = takes(worker, head.shape, false)) {
            lease(worker, *task, head.shape);
            ++leased;
            --looked;
            // What follows in the shape has its place behind this one, which is still there if it waits for
            // another host.
            (from_any ? a : b) = (from_any ? any : pinned).lower_bound(head);
        } else {
            if (fit_.could_hold(worker, head.shape) && fit_.category_has_room(ledger_.shape(head.shape)) &&
                state_.avoided.next_for(head.shape, worker))
                passed_over.emplace_back(head.shape, leased);
            ++(from_any ? a : b);
        }
    }
    for (const auto& [shape, before] : passed_over) {
        if (leased > before) passed_over_[shape] += leased - before;
        if (!state_.reserved && passed_over_[shape] >= turns_before_reserving) reserve(worker, shape, false);
    }
}

void Dispatch::fill_with_suspect(Worker& worker) {
    if (worker.suspect || ledger_.suspect_shapes().empty()) return;
    std::size_t looked = 0;
    std::optional<ShapeId> waiting;
    for (const ShapeId shape : ledger_.suspect_shapes()) {
        if (++looked > shapes_looked_at && !worker.leases.empty()) break;
        if (const auto task = takes(worker, shape, true)) return lease(worker, *task, shape);
        if (!waiting && fit_.could_hold(worker, shape) && fit_.category_has_room(ledger_.shape(shape)) &&
            state_.avoided.next_suspect_for(shape, worker))
            waiting = shape;
    }
    if (waiting && !state_.reserved) reserve(worker, *waiting, true);
}

// ---- leases and reservations ----

void Dispatch::lease(Worker& worker, TaskId task, ShapeId shape) {
    const bool suspect = ledger_.ready(shape).suspects.contains(task.value());
    if (!suspect) passed_over_[shape] = 0;
    attempts_.lease(worker, task, shape, suspect);
    if (state_.reserved && state_.reserved->shape == shape && state_.reserved->suspect == suspect)
        end_reservation();
}

void Dispatch::reserve(const Worker& worker, ShapeId shape, bool suspect) {
    state_.reserved = Reservation{worker.id, shape, suspect};
    passed_over_[shape] = 0;
}

void Dispatch::end_reservation() {
    const WorkerId id = state_.reserved->worker;
    state_.reserved.reset();
    if (Worker* worker = workers_.find(id)) workers_.changed(*worker);
}

// Nothing of the shape waits for the worker any more, or the time that it has left became too short for it.
void Dispatch::end_idle_reservation() {
    if (!state_.reserved) return;
    const Worker& worker = *workers_.find(state_.reserved->worker);
    const auto [id, shape, suspect] = *state_.reserved;
    if (!state_.avoided.has_one_for(shape, suspect, worker) || !fit_.could_hold(worker, shape))
        end_reservation();
}

void Dispatch::tuned(const Tuned& event) {
    ReactorOptions& options = state_.options;
    if (event.hold_until_workers) state_.hold_until_workers = *event.hold_until_workers;
    if (event.allocation) options.allocation = *event.allocation;
    if (event.submit_multiplier) options.submit_multiplier = *event.submit_multiplier;
    if (event.ramps_down) options.ramps_down = *event.ramps_down;
    if (event.allocation || event.submit_multiplier)
        for (const auto& [id, worker] : workers_.all()) workers_.changed(*workers_.find(id));
}

std::optional<std::string> Dispatch::audit() const {
    if (state_.reserved && !workers_.find(state_.reserved->worker)->available())
        return "a worker that gets no tasks is reserved";
    return std::nullopt;
}

}  // namespace wq::scheduling
