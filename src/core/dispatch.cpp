// Which task goes to which worker.
//
// What could not be leased before can be only where something changed. So an event is followed by two kinds
// of looks: shapes that got their first ready tasks look for workers, roomiest first, so that work spreads;
// and workers that got room look for tasks, those of highest priority first, else in the order of the list. A
// shape that does not fit is passed over, but not for ever: then a worker is kept free for it. Suspects, lost
// with a worker before, go first, one at a time per worker.
#include <algorithm>
#include <span>
#include <utility>

#include "core/reactor.h"

namespace wq::core {

namespace {
constexpr std::size_t shapes_looked_at = 64;
// Of one kind, in one order. If the roomiest are full, all those behind them run something, as the idle stand
// first, and look again when it ends.
constexpr int workers_looked_at = 8;
// Of one kind, before it is cut.
constexpr int too_small_looked_at = 8;
// A shape passed over so often gets a worker kept free for it.
constexpr std::uint64_t patience = 200;

// Before all with as much room and as much memory.
Place first_of(const Place& like, std::int64_t memory_mb) {
    return {like.room, like.busy, memory_mb, Instant::max(), WorkerId(0)};
}
// Behind all that have an end, too.
Place last_of(const Place& like) {
    return {like.room, like.busy, like.memory_mb, Instant::min(), unknown_worker};
}
}  // namespace

bool Reactor::gives_out() {
    if (stop_ || storage_trouble_ || !ledger_.expired().empty() ||
        workers_.size() - workers_.away() < hold_until_workers_)
        return false;
    hold_until_workers_ = 0;
    return true;
}

void Reactor::dispatch(Now now, Actions& actions) {
    if (!gives_out()) return;
    if (check_fits_ && pool_is_judged(now)) {
        check_fits_ = false;
        for (std::uint32_t shape = 0; shape < ledger_.shapes(); ++shape)
            skip_what_fits_nowhere(ShapeId(shape), now, actions);
    }
    end_idle_reservation(now);
    seal_where_tasks_abound(now, actions);
    std::vector<ShapeId> awakened = ledger_.take_awakened();
    awakened.insert(awakened.end(), awakened_.begin(), awakened_.end());
    awakened_.clear();
    for (const ShapeId shape : awakened) {
        skip_what_fits_nowhere(shape, now, actions);
        release_whoever_holds(shape, actions);
        spread_suspects(shape, now, actions);
    }
    spread(awakened, now, actions);
    if (!awakened.empty()) tell_what_waits_later(now, false);
    // A lease may end a reservation, which gives room on another worker.
    for (auto changed = workers_.take_changed(); !changed.empty(); changed = workers_.take_changed())
        for (const WorkerId id : changed)
            if (Worker* worker = workers_.find(id); worker != nullptr && worker->available())
                fill(*worker, now, actions);
}

void Reactor::spread_suspects(ShapeId shape, Now now, Actions& actions) {
    while (!ledger_.ready(shape).suspects.empty()) {
        Worker* worker = roomiest(shape, true, now);
        if (worker == nullptr) return;
        lease(*worker, *takes(*worker, shape, true, now), shape, now, actions);
    }
}

// A worker that got room besides may have it for others that are more urgent than those that look for one.
ShapeId Reactor::most_urgent_for(const Worker& worker, const ReadyHead& head, Now now) const {
    if (!worker.has_changed) return head.shape;
    std::size_t looked = 0;
    for (const ReadyHead& other : ledger_.ready_shapes()) {
        if (!(other < head) || ++looked > shapes_looked_at) break;
        if (takes(worker, other.shape, false, now)) return other.shape;
    }
    return head.shape;
}

// Of several shapes, the most urgent task first.
void Reactor::spread(const std::vector<ShapeId>& shapes, Now now, Actions& actions) {
    ReadyShapes heads;
    for (const ShapeId shape : shapes)
        if (const auto head = ledger_.head(shape)) heads.insert(*head);
    while (!heads.empty()) {
        auto head = std::optional(heads.extract(heads.begin()).value());
        while (head) {
            const ShapeId shape = head->shape;
            Worker* worker = roomiest(shape, false, now);
            if (worker == nullptr) break;
            const ShapeId first = most_urgent_for(*worker, *head, now);
            lease(*worker, *takes(*worker, first, false, now), first, now, actions);
            head = ledger_.head(shape);
            if (!head || heads.empty()) continue;
            heads.insert(*head);
            head.reset();
        }
    }
}

Worker* Reactor::roomiest(ShapeId shape, bool suspect, Now now) {
    const Shape& what = ledger_.shape(shape);
    if (!has_room(what)) return nullptr;
    Worker* best = nullptr;
    std::int64_t most = 0;
    const auto consider = [&](Worker* worker, Scarce scarce) {
        if (worker == nullptr || (best != nullptr && worker->room(scarce) <= most)) return;
        best = worker;
        most = worker->room(scarce);
    };
    for (const WorkerId id : what.workers) {
        Worker* worker = workers_.find(id);
        ++looks_;
        if (worker != nullptr && takes(*worker, shape, suspect, now))
            consider(worker, orders_for(share(shape, worker->whole)).front());
    }
    if (!what.workers.empty()) return best;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        if (!ever_holds(kind.at_most.whole, kind.at_most.features, shape) ||
            !has_time(kind.leaves_by, what, now))
            continue;
        const std::span<const Scarce> orders = orders_for(share(shape, kind.at_most.whole));
        for (const Scarce scarce : orders) {
            workers_.keep_order(scarce);
            const auto found = roomiest_of(of_kind.by(scarce), shape, suspect, now);
            if (!found) return roomiest(shape, suspect, now);
            consider(*found, orders.front());
            if (*found != nullptr) break;
        }
    }
    return best;
}

// Of one kind. Nothing: the kinds were cut.
std::optional<Worker*> Reactor::roomiest_of(const Places& places, ShapeId shape, bool suspect, Now now) {
    const std::int64_t memory_mb = std::max(asked(shape).needs.memory_mb, asked(shape).at_least.memory_mb);
    const std::int64_t disk_mb = std::max(asked(shape).needs.disk_mb, asked(shape).at_least.disk_mb);
    int looked = 0;
    int too_small = 0;
    for (auto it = places.begin(); it != places.end();) {
        ++looks_;
        if (it->memory_mb < memory_mb) {
            it = places.lower_bound(first_of(*it, memory_mb));
            continue;
        }
        if (!has_time(it->leaves_at, ledger_.shape(shape), now)) {
            it = places.upper_bound(last_of(*it));
            continue;
        }
        Worker* const worker = workers_.find(it->id);
        // One with too little disk ends no search: nothing would make the others look again. Where tasks ask
        // for disk in more sizes than there are cuts, all of the kind may be looked at.
        if (could_hold(*worker, shape, now)) {
            if (takes(*worker, shape, suspect, now)) return worker;
            // One that is avoided says nothing of the others.
            if (has_one_for(shape, suspect, *worker) && ++looked == workers_looked_at) break;
        } else if (++too_small == too_small_looked_at && workers_.cut_disk(disk_mb)) {
            return std::nullopt;
        }
        ++it;
    }
    return nullptr;
}

void Reactor::fill(Worker& worker, Now now, Actions& actions) {
    fill_with_suspect(worker, now, actions);
    if (worker.alone) return;
    fill_with_others(worker, now, actions);
    // Everything is in a batch that this worker has no part in.
    if (worker.leases.empty() && batch_ && !batch_->members.contains(worker.id) && !reserved_ &&
        could_hold(worker, batch_->shape, now))
        revoke(actions);
}

// Looks at the shapes with ready tasks that may run there, the most urgent first.
void Reactor::fill_with_others(Worker& worker, Now now, Actions& actions) {
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
        if (const auto task = takes(worker, head.shape, false, now)) {
            lease(worker, *task, head.shape, now, actions);
            ++leased;
            --looked;
            // What follows in the shape has its place behind this one, which is still there if it waits for
            // another host.
            (from_any ? a : b) = (from_any ? any : pinned).lower_bound(head);
        } else {
            if (could_hold(worker, head.shape, now) && has_room(ledger_.shape(head.shape)) &&
                next_for(head.shape, worker))
                passed_over.emplace_back(head.shape, leased);
            ++(from_any ? a : b);
        }
    }
    for (const auto& [shape, before] : passed_over) {
        if (leased > before) state_of(shape).passed_over += leased - before;
        if (!reserved_ && state_of(shape).passed_over >= patience) reserve(worker, shape, false);
    }
}

void Reactor::fill_with_suspect(Worker& worker, Now now, Actions& actions) {
    if (worker.suspect || ledger_.suspect_shapes().empty()) return;
    std::size_t looked = 0;
    std::optional<ShapeId> waiting;
    for (const ShapeId shape : ledger_.suspect_shapes()) {
        if (++looked > shapes_looked_at && !worker.leases.empty()) break;
        if (const auto task = takes(worker, shape, true, now))
            return lease(worker, *task, shape, now, actions);
        if (!waiting && could_hold(worker, shape, now) && has_room(ledger_.shape(shape)) &&
            next_suspect_for(shape, worker))
            waiting = shape;
    }
    if (waiting && !reserved_) reserve(worker, *waiting, true);
}

void Reactor::lease(Worker& worker, TaskId task, ShapeId shape, Now now, Actions& actions) {
    const Shape& what = ledger_.shape(shape);
    const bool suspect = ledger_.ready(shape).suspects.contains(task.value());
    if (!suspect) state_of(shape).passed_over = 0;
    ledger_.change(task, TaskEvent::lease);
    Attempted& attempted = ledger_.attempted(task);
    attempted.attempt = attempted.next();
    // A lost rank may have had a ticket for it, which was attempt 1.
    if (attempted.attempt == 1 && doubtful_.contains(task.value())) attempted.attempt = 2;
    attempted.by_ticket = false;
    attempted.worker = worker.id;
    attempted.given = given_now(shape, worker);
    attempted.dispatched_us = now.wall;
    attempted.since = now.instant;
    attempted.told_to_end = false;
    workers_.lease(worker, task, attempted.given);
    // Whoever waits for it in a launcher is recalled by that order.
    for (const Scarce what_it_holds : orders_for(attempted.given)) workers_.keep_order(what_it_holds);
    if (watches_pace_) watch_pace(task, attempted);
    watch_for_copy(task, attempted);
    stop_avoiding(task);
    if (suspect) {
        worker.suspect = task;
        worker.alone = last_chance(task);
    }
    count_for(task, [](ManagerStats& stats) { ++stats.tasks_dispatched; });
    actions.push_back(Lease{worker.id, task, attempted.attempt, attempted.given, time_for(task, now),
                            watch_of(shape, attempted.given), what.category, ledger_.submitted(task)});
    if (reserved_ && reserved_->shape == shape && reserved_->suspect == suspect) end_reservation();
}

void Reactor::reserve(const Worker& worker, ShapeId shape, bool suspect) {
    reserved_ = Reservation{worker.id, shape, suspect};
    state_of(shape).passed_over = 0;
}

void Reactor::end_reservation() {
    const WorkerId id = reserved_->worker;
    reserved_.reset();
    if (Worker* worker = workers_.find(id)) workers_.changed(*worker);
}

// Nothing of the shape waits for the worker any more, or the time that it has left became too short for it.
void Reactor::end_idle_reservation(Now now) {
    if (!reserved_) return;
    const Worker& worker = *workers_.find(reserved_->worker);
    const bool waits = has_one_for(reserved_->shape, reserved_->suspect, worker);
    if (!waits || !could_hold(worker, reserved_->shape, now)) end_reservation();
}

}  // namespace wq::core
