#include "engine/policies/dispatch.h"

#include <algorithm>
#include <span>
#include <utility>

namespace wq::engine::policies {

namespace {

constexpr std::size_t shapes_looked_at = 64;
// Workers of one kind that a search visits in one order. Idle workers come first: if the first ones are full,
// all later ones run something, and look for tasks when it ends.
constexpr int workers_looked_at = 8;
// Workers with too little disk that a search visits before it splits their kind.
constexpr int too_small_looked_at = 8;
// After being skipped this often, a shape gets a worker reserved for it.
constexpr std::uint64_t turns_before_reserving = 200;

// Sorts before all places with the same room and memory.
SearchPosition first_of(const SearchPosition& like, std::int64_t memory_mb) {
    return {like.room, like.busy, memory_mb, Instant::max(), WorkerId(0)};
}
// Sorts after all places with the same room and memory, even those with an end time.
SearchPosition last_of(const SearchPosition& like) {
    return {like.room, like.busy, like.memory_mb, Instant::min(), unknown_worker};
}

}  // namespace

void Dispatch::dispatch() {
    run_.hold_until(0);
    std::vector<ShapeId> awakened = ledger_.take_awakened();
    awakened.insert(awakened.end(), awakened_.begin(), awakened_.end());
    awakened_.clear();
    for (const ShapeId shape : awakened) {
        hooks_.awakened(shape);
        spread_suspects(shape);
    }
    if (!awakened.empty()) {
        spread(awakened);
        hooks_.pool_changed(PoolChange::less_room);
    }
    // A lease may end a reservation, which frees room on another worker.
    for (auto changed = workers_.take_changed(); !changed.empty(); changed = workers_.take_changed())
        for (const WorkerId id : changed)
            if (Worker* worker = workers_.find(id); worker != nullptr && worker->available()) fill(*worker);
}

// ---- what a worker takes ----

// The ready task of the shape that can be leased to `worker` now, among its suspects or among the others.
std::optional<TaskId> Dispatch::takes(const Worker& worker, ShapeId shape, Among among) const {
    const auto give = fit_.open_share(worker, shape, among);
    if (!give) return std::nullopt;
    if (among == Among::suspects) return takes_suspect(worker, shape, *give);
    const auto next = state_.avoided.next_for(shape, worker);
    if (!next || fit_.has_more_urgent_tickets(worker, next->priority)) return std::nullopt;
    if (!worker.fits(*give) && !fit_.may_queue(shape, worker, *give)) return std::nullopt;
    return next->task;
}

std::optional<TaskId> Dispatch::takes_suspect(const Worker& worker, ShapeId shape,
                                              const Resources& give) const {
    const auto next = worker.suspect ? std::nullopt : state_.avoided.next_suspect_for(shape, worker);
    if (!next) return std::nullopt;
    // On its last chance a task runs alone, so that if its worker is lost again, the task is to blame.
    const bool fits =
        attempts_.last_chance(*next)
            ? worker.leases.empty() && !(state_.batch && state_.batch->members.contains(worker.id))
            : worker.fits(give);
    return fits ? next : std::nullopt;
}

// ---- shapes look for workers ----

void Dispatch::spread_suspects(ShapeId shape) {
    while (!ledger_.ready(shape).suspects.empty()) {
        Worker* worker = roomiest(shape, Among::suspects);
        if (worker == nullptr) return;
        lease(*worker, *takes(*worker, shape, Among::suspects), shape);
    }
}

// The shape to lease to `worker` first. If the worker has just got room, a ready shape with a higher priority
// than `head` goes first.
ShapeId Dispatch::most_urgent_for(const Worker& worker, const ReadyHead& head) const {
    if (!worker.has_changed) return head.shape;
    std::size_t looked = 0;
    for (const ReadyHead& other : ledger_.ready_shapes()) {
        if (!(other < head) || ++looked > shapes_looked_at) break;
        if (takes(worker, other.shape, Among::others)) return other.shape;
    }
    return head.shape;
}

// Leases the highest-priority task of all the shapes first.
void Dispatch::spread(const std::vector<ShapeId>& shapes) {
    ReadyShapes heads;
    for (const ShapeId shape : shapes)
        if (const auto head = ledger_.head(shape)) heads.insert(*head);
    while (!heads.empty()) {
        auto head = std::optional(heads.extract(heads.begin()).value());
        while (head) {
            const ShapeId shape = head->shape;
            Worker* worker = roomiest(shape, Among::others);
            if (worker == nullptr) break;
            const ShapeId first = most_urgent_for(*worker, *head);
            lease(*worker, *takes(*worker, first, Among::others), first);
            head = ledger_.head(shape);
            if (!head || heads.empty()) continue;
            heads.insert(*head);
            head.reset();
        }
    }
}

Worker* Dispatch::roomiest(ShapeId shape, Among among) {
    const Shape& what = ledger_.shape(shape);
    if (!fit_.one_more_may_run(what)) return nullptr;
    Worker* best = nullptr;
    std::int64_t most = 0;
    const auto consider = [&](Worker* worker, Scarce scarce) {
        if (worker == nullptr || (best != nullptr && worker->room(scarce) <= most)) return;
        best = worker;
        most = worker->room(scarce);
    };
    for (const WorkerId id : what.workers) {
        Worker* worker = workers_.find(id);
        counters_.count_look();
        if (worker != nullptr && takes(*worker, shape, among))
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
            const auto found = roomiest_of(of_kind.by(scarce), shape, among);
            if (!found) return roomiest(shape, among);
            consider(*found, orders.front());
            if (*found != nullptr) break;
        }
    }
    return best;
}

// Searches one kind of workers. Returns nullopt if the kind was split, and the search must start again.
std::optional<Worker*> Dispatch::roomiest_of(const Places& places, ShapeId shape, Among among) {
    const Ask& ask = state_.asked(shape);
    const std::int64_t memory_mb = std::max(ask.needs.memory_mb, ask.at_least.memory_mb);
    const std::int64_t disk_mb = std::max(ask.needs.disk_mb, ask.at_least.disk_mb);
    int looked = 0;
    int too_small = 0;
    for (auto it = places.begin(); it != places.end();) {
        counters_.count_look();
        if (it->memory_mb < memory_mb) {
            it = places.lower_bound(first_of(*it, memory_mb));
            continue;
        }
        if (!fit_.has_time(it->leaves_at, ledger_.shape(shape))) {
            it = places.upper_bound(last_of(*it));
            continue;
        }
        Worker* const worker = workers_.find(it->id);
        // A worker with too little disk does not end the search, because nothing would make the others look
        // again. If tasks ask for more disk sizes than there are splits, the search may visit the whole kind.
        if (fit_.could_hold(*worker, shape)) {
            if (takes(*worker, shape, among)) return worker;
            // A worker that the task avoids says nothing about the others.
            if (state_.avoided.has_one_for(shape, among, *worker) && ++looked == workers_looked_at) break;
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
    // All work is in a batch, and this worker is not a member of it.
    if (state_.batch && worker.leases.empty() && !state_.batch->members.contains(worker.id) &&
        !state_.pool.reserved() && fit_.could_hold(worker, state_.batch->shape))
        revoke_batch();
}

// Visits the shapes with ready tasks that may run there, in order of priority.
void Dispatch::fill_with_others(Worker& worker) {
    const ReadyShapes& any = ledger_.ready_shapes();
    const ReadyShapes& pinned = ledger_.ready_shapes_for(worker.id);
    auto a = any.begin();
    auto b = pinned.begin();
    std::uint64_t leased = 0;
    std::vector<std::pair<ShapeId, std::uint64_t>> passed_over;  // and how many were leased before
    // An idle worker visits all shapes, because nothing would make it look again.
    for (std::size_t looked = 0; looked < shapes_looked_at || worker.leases.empty(); ++looked) {
        if (a == any.end() && b == pinned.end()) break;
        const bool from_any = b == pinned.end() || (a != any.end() && *a < *b);
        const ReadyHead head = from_any ? *a : *b;
        if (const auto task = takes(worker, head.shape, Among::others)) {
            lease(worker, *task, head.shape);
            ++leased;
            --looked;
            // The shape's later tasks sort after this one, which is still ready if it waits for another host.
            (from_any ? a : b) = (from_any ? any : pinned).lower_bound(head);
        } else {
            if (fit_.could_hold(worker, head.shape) && fit_.one_more_may_run(ledger_.shape(head.shape)) &&
                state_.avoided.next_for(head.shape, worker))
                passed_over.emplace_back(head.shape, leased);
            ++(from_any ? a : b);
        }
    }
    for (const auto& [shape, before] : passed_over) {
        if (leased > before) passed_over_[shape] += leased - before;
        if (!state_.pool.reserved() && passed_over_[shape] >= turns_before_reserving)
            reserve(worker, shape, Among::others);
    }
}

void Dispatch::fill_with_suspect(Worker& worker) {
    if (worker.suspect || ledger_.suspect_shapes().empty()) return;
    std::size_t looked = 0;
    std::optional<ShapeId> waiting;
    for (const ShapeId shape : ledger_.suspect_shapes()) {
        if (++looked > shapes_looked_at && !worker.leases.empty()) break;
        if (const auto task = takes(worker, shape, Among::suspects)) return lease(worker, *task, shape);
        if (!waiting && fit_.could_hold(worker, shape) && fit_.one_more_may_run(ledger_.shape(shape)) &&
            state_.avoided.next_suspect_for(shape, worker))
            waiting = shape;
    }
    if (waiting && !state_.pool.reserved()) reserve(worker, *waiting, Among::suspects);
}

// ---- leases and reservations ----

void Dispatch::lease(Worker& worker, TaskId task, ShapeId shape) {
    const Among among =
        ledger_.ready(shape).suspects.contains(task.value()) ? Among::suspects : Among::others;
    if (among == Among::others) passed_over_[shape] = 0;
    attempts_.lease(worker, task, shape, among);
    const std::optional<Reservation>& reserved = state_.pool.reserved();
    if (reserved && reserved->shape == shape && reserved->among == among) end_reservation();
}

void Dispatch::reserve(const Worker& worker, ShapeId shape, Among among) {
    pool_state_.reserve({worker.id, shape, among});
    passed_over_[shape] = 0;
}

void Dispatch::end_reservation() {
    const WorkerId id = state_.pool.reserved()->worker;
    pool_state_.end_reservation();
    if (Worker* worker = workers_.find(id)) workers_.changed(*worker);
}

// Ends the reservation if no task of the shape waits for the worker, or the worker's remaining time is too
// short.
void Dispatch::end_idle_reservation() {
    if (!state_.pool.reserved()) return;
    const Worker& worker = *workers_.find(state_.pool.reserved()->worker);
    const auto [id, shape, among] = *state_.pool.reserved();
    if (!state_.avoided.has_one_for(shape, among, worker) || !fit_.could_hold(worker, shape))
        end_reservation();
}

void Dispatch::tuned(const Tuned& event) {
    if (event.hold_until_workers) run_.hold_until(*event.hold_until_workers);
    if (event.allocation) options_.allocation = *event.allocation;
    if (event.submit_multiplier) options_.submit_multiplier = *event.submit_multiplier;
    if (event.ramps_down) options_.ramps_down = *event.ramps_down;
    if (event.allocation || event.submit_multiplier)
        for (const auto& [id, worker] : workers_.all()) workers_.changed(*workers_.find(id));
}

std::optional<std::string> Dispatch::audit() const {
    if (state_.pool.reserved() && !workers_.find(state_.pool.reserved()->worker)->available())
        return "a worker that gets no tasks is reserved";
    return std::nullopt;
}

}  // namespace wq::engine::policies
