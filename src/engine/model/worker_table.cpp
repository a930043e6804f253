#include "engine/model/worker_table.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace wq::engine::model {

namespace {

// The index of last-heard times is updated only if it changes by more than this.
constexpr Duration heard_grain = std::chrono::milliseconds(100);

constexpr std::size_t most_cuts = 8;

// Workers that hold no lease of them tell little of the others.
constexpr std::int64_t least_part_a_lease = 100;

constexpr std::array<Scarce, scarce_things> orders{Scarce::cores, Scarce::gpus,  Scarce::memory,
                                                   Scarce::disk,  Scarce::slots, Scarce::coprocesses};

std::int64_t amount(const Resources& of, Scarce what) {
    switch (what) {
        case Scarce::cores:
            return of.cores.thousandths();
        case Scarce::gpus:
            return of.gpus.thousandths();
        case Scarce::memory:
            return of.memory_mb;
        case Scarce::disk:
            return of.disk_mb;
        case Scarce::coprocesses:
            return of.coprocesses;
        default:
            return 0;
    }
}

using EndClass = std::chrono::duration<std::int64_t, std::ratio<6 * 3600>>;

std::int64_t within_twice(std::int64_t amount) {
    if (amount <= 0) return amount;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(amount)));
}

}  // namespace

std::span<const Scarce> orders_for(const Resources& give) {
    const std::span<const Scarce> all(orders);
    if (give.coprocesses > 0) return all.subspan(5, 1);
    if (give.cores > 0) return all.first(give.gpus > 0 ? 2 : 1);
    if (give.gpus > 0) return all.subspan(1, 1);
    if (give.memory_mb > 0) return all.subspan(2, 1);
    return all.subspan(give.disk_mb > 0 ? 3 : 4, 1);
}

WorkerKind WorkerTable::kind_of(const Worker& worker) const {
    WorkerKind kind{worker.offer(), worker.leaves_at};
    Resources& bound = kind.at_most.whole;
    bound.memory_mb = within_twice(bound.memory_mb);
    const auto cut = disk_cuts_.upper_bound(bound.disk_mb);
    bound.disk_mb = within_twice(bound.disk_mb);
    if (cut != disk_cuts_.end()) bound.disk_mb = std::min(bound.disk_mb, *cut - 1);
    if (worker.leaves_at)
        kind.leaves_by = Instant(std::chrono::ceil<EndClass>(worker.leaves_at->time_since_epoch()));
    return kind;
}

bool WorkerTable::split_by_disk(std::int64_t demand_mb) {
    if (demand_mb <= 0 || disk_cuts_.size() >= most_cuts || !disk_cuts_.insert(demand_mb).second)
        return false;
    for (const auto& [kind, of_kind] : std::exchange(kinds_, {}))
        for (const SearchPosition& place : of_kind.by(Scarce::cores)) enter_kind(*find(place.id));
    return true;
}

void WorkerTable::keep_order(Scarce what) {
    if (std::exchange(kept_[static_cast<std::size_t>(what)], true)) return;
    for (auto& [kind, of_kind] : kinds_)
        for (const SearchPosition& place : of_kind.by(Scarce::cores))
            of_kind.by(what).insert(find(place.id)->place(what));
}

Resources Worker::free() const {
    Resources left = whole;
    left -= used;
    return left;
}

std::int64_t Worker::room(Scarce what) const {
    if (what == Scarce::slots) return most_weightless(whole) - static_cast<std::int64_t>(leases.size());
    return amount(whole, what) - amount(used, what);
}

std::int64_t Worker::a_lease(Scarce what) const {
    const auto count = static_cast<std::int64_t>(leases.size());
    const bool parts = what == Scarce::cores || what == Scarce::gpus;
    if (count == 0) return parts ? 1000 : 1;
    return std::max<std::int64_t>(amount(used, what) / count, parts ? least_part_a_lease : 1);
}

std::uint64_t Worker::queue(Scarce what) const {
    const std::int64_t beyond = amount(used, what) - amount(whole, what);
    if (beyond <= 0) return 0;
    const std::int64_t each = a_lease(what);
    return static_cast<std::uint64_t>((beyond + each - 1) / each);
}

std::uint64_t Worker::queue() const {
    if (used.fits_in(whole)) return 0;
    std::uint64_t most = 0;
    for (const Scarce what : orders) most = std::max(most, queue(what));
    return std::min<std::uint64_t>(most, leases.size());
}

Worker& WorkerTable::add(const WorkerJoined& joined, Instant now) {
    Worker& worker = workers_[joined.worker];
    worker = Worker{};
    worker.id = joined.worker;
    worker.host = joined.host;
    worker.whole = joined.offers;
    worker.leaves_at = joined.leaves_at;
    worker.features = joined.features;
    std::sort(worker.features.begin(), worker.features.end());
    worker.features.erase(std::unique(worker.features.begin(), worker.features.end()), worker.features.end());
    worker.takes_tickets = joined.takes_tickets;
    worker.watched = joined.watched;
    worker.last_heard = now;
    enter(worker);
    changed(worker);
    return worker;
}

void WorkerTable::remove(WorkerId id) {
    const auto found = workers_.find(id);
    if (found == workers_.end()) return;
    leave(found->second);
    workers_.erase(found);
}

// Adds the worker to every index and sum that its present state belongs to.
void WorkerTable::enter(Worker& worker) {
    ++offers_[worker.offer()];
    queued_ += worker.queue();
    Host& host = hosts_[worker.host];
    host.workers.insert(worker.id);
    if (worker.available() && host.available++ == 0) ++hosts_available_;
    if (worker.available()) enter_kind(worker);
    if (worker.disconnected()) {
        disconnected_.insert({*worker.disconnected_until, worker.id});
        return;
    }
    if (!worker.watched) by_heard_.insert({worker.last_heard, worker.id});
    total_ += worker.whole;
    committed_ += worker.used;
    if (!worker.leases.empty()) ++busy_;
}

void WorkerTable::enter_kind(Worker& worker) {
    worker.kind = kinds_.try_emplace(kind_of(worker)).first;
    for (const Scarce what : orders)
        if (keeps_order(what)) worker.kind->second.by(what).insert(worker.place(what));
}

void WorkerTable::leave(const Worker& worker) {
    const auto host = hosts_.find(worker.host);
    if (worker.available() && --host->second.available == 0) --hosts_available_;
    host->second.workers.erase(worker.id);
    if (host->second.workers.empty()) hosts_.erase(host);
    queued_ -= worker.queue();
    if (const auto offer = offers_.find(worker.offer()); --offer->second == 0) offers_.erase(offer);
    if (worker.available()) {
        for (const Scarce what : orders)
            if (keeps_order(what)) worker.kind->second.by(what).erase(worker.place(what));
        if (worker.kind->second.by(Scarce::cores).empty()) kinds_.erase(worker.kind);
    }
    if (worker.disconnected()) {
        disconnected_.erase({*worker.disconnected_until, worker.id});
        return;
    }
    by_heard_.erase({worker.last_heard, worker.id});
    total_ -= worker.whole;
    committed_ -= worker.used;
    if (!worker.leases.empty()) --busy_;
}

void WorkerTable::set_disconnected(Worker& worker, Instant now, Duration limit, std::string why) {
    leave(worker);
    worker.disconnected_until = now + limit;
    worker.disconnect_limit = limit;
    worker.disconnected_why = std::move(why);
    worker.recalled = 0;
    enter(worker);
}

void WorkerTable::set_reconnected(Worker& worker, Instant now) {
    leave(worker);
    worker.disconnected_until.reset();
    worker.recalled = 0;
    worker.last_heard = now;
    enter(worker);
    changed(worker);
}

void WorkerTable::drain(Worker& worker) {
    leave(worker);
    worker.draining = true;
    enter(worker);
}

void WorkerTable::end_draining(Worker& worker) {
    leave(worker);
    worker.draining = false;
    enter(worker);
    changed(worker);
}

void WorkerTable::block(Worker& worker) {
    leave(worker);
    worker.blocked = true;
    enter(worker);
}

void WorkerTable::unblock(Worker& worker) {
    leave(worker);
    worker.blocked = false;
    enter(worker);
    changed(worker);
}

const std::set<WorkerId>* WorkerTable::of_host(const std::string& host) const {
    const auto found = hosts_.find(host);
    return found == hosts_.end() ? nullptr : &found->second.workers;
}

std::int64_t WorkerTable::available_cores() const {
    std::int64_t cores = 0;
    for (const auto& [kind, of_kind] : kinds_)
        cores += kind.at_most.whole.cores.rounded_down() *
                 static_cast<std::int64_t>(of_kind.by(Scarce::cores).size());
    return cores;
}

const Worker* WorkerTable::first_given_up() const {
    return disconnected_.empty() ? nullptr : find(disconnected_.begin()->second);
}

Worker* WorkerTable::find(WorkerId id) {
    return const_cast<Worker*>(std::as_const(*this).find(id));
}

const Worker* WorkerTable::find(WorkerId id) const {
    const auto found = workers_.find(id);
    return found == workers_.end() ? nullptr : &found->second;
}

void WorkerTable::mark_heard(Worker& worker, Instant now) {
    if (worker.watched || worker.disconnected() || now - worker.last_heard < heard_grain) return;
    by_heard_.erase({worker.last_heard, worker.id});
    worker.last_heard = now;
    by_heard_.insert({now, worker.id});
}

const Worker* WorkerTable::quietest() const {
    return by_heard_.empty() ? nullptr : find(by_heard_.begin()->second);
}

// Applies a change and keeps every index consistent.
template <class Change>
void WorkerTable::move(Worker& worker, Change&& change) {
    if (!worker.available()) return change();
    std::array<std::int64_t, scarce_things> room_before;
    for (const Scarce what : orders)
        if (keeps_order(what)) room_before[static_cast<std::size_t>(what)] = worker.room(what);
    SearchPosition before = worker.place(Scarce::cores);
    change();
    for (const Scarce what : orders) {
        if (!keeps_order(what)) continue;
        before.room = room_before[static_cast<std::size_t>(what)];
        const SearchPosition now = worker.place(what);
        if (now == before) continue;
        auto node = worker.kind->second.by(what).extract(before);
        node.value() = now;
        worker.kind->second.by(what).insert(std::move(node));
    }
}

void WorkerTable::use(Worker& worker, const Resources& used) {
    if (!worker.disconnected()) {
        committed_ -= worker.used;
        committed_ += used;
    }
    worker.used = used;
}

void WorkerTable::lease(Worker& worker, TaskId task, const Resources& give) {
    if (worker.leases.empty() && !worker.disconnected()) ++busy_;
    queued_ -= worker.queue();
    move(worker, [&] {
        worker.leases.insert(task);
        worker.cores_held.add(task, give.cores);
        worker.gpus_held.add(task, give.gpus);
        Resources used = worker.used;
        use(worker, used += give);
    });
    queued_ += worker.queue();
}

void WorkerTable::release(Worker& worker, TaskId task, const Resources& given) {
    const std::uint64_t queued = worker.queue();
    if (!worker.leases.contains(task)) return;
    move(worker, [&] {
        worker.leases.erase(task);
        worker.cores_held.remove(task, given.cores);
        worker.gpus_held.remove(task, given.gpus);
        Resources used = worker.used;
        use(worker, used -= given);
    });
    if (worker.leases.empty() && !worker.disconnected()) --busy_;
    queued_ = queued_ - queued + worker.queue();
    // A lease that left the queue has started and cannot be recalled.
    worker.recalled = std::min(worker.recalled, worker.queue());
    if (worker.suspect == task) {
        worker.suspect.reset();
        worker.alone = false;
    }
    changed(worker);
}

void WorkerTable::changed(Worker& worker) {
    if (std::exchange(worker.has_changed, true)) return;
    changed_.push_back(worker.id);
}

std::vector<WorkerId> WorkerTable::take_changed() {
    for (const WorkerId id : changed_)
        if (Worker* worker = find(id)) worker->has_changed = false;
    return std::exchange(changed_, {});
}

std::optional<std::string> WorkerTable::audit() const {
    Resources total;
    Resources committed;
    std::uint64_t busy = 0;
    std::uint64_t queued = 0;
    std::size_t available = 0;
    std::size_t indexed = 0;
    std::size_t judged = 0;
    for (const auto& [id, worker] : workers_) {
        const std::string name = "worker " + std::to_string(id.value());
        if (!worker.disconnected()) {
            total += worker.whole;
            committed += worker.used;
            if (!worker.leases.empty()) ++busy;
        }
        queued += worker.queue();
        const bool silence = !worker.disconnected() && !worker.watched;
        if (silence) ++judged;
        if (worker.available()) ++available;
        const auto kind = kinds_.find(kind_of(worker));
        const bool in_kinds =
            kind != kinds_.end() && std::all_of(orders.begin(), orders.end(), [&](Scarce what) {
                return !keeps_order(what) || kind->second.by(what).contains(worker.place(what));
            });
        const bool knows_it = !worker.available() || worker.kind == kind;
        if (in_kinds != worker.available() || !knows_it ||
            by_heard_.contains({worker.last_heard, id}) != silence)
            return name + " is not indexed";
        if (worker.disconnected() && !disconnected_.contains({*worker.disconnected_until, id}))
            return name + " is not disconnected";
        if (worker.suspect && !worker.leases.contains(*worker.suspect)) return name + " lost its suspect";
        if (worker.alone && (!worker.suspect || worker.leases.size() != 1))
            return name + " runs more than the task that is to be alone";
    }
    for (const auto& [kind, of_kind] : kinds_) {
        const std::size_t size = of_kind.by(Scarce::cores).size();
        indexed += size;
        for (const Scarce what : orders)
            if (of_kind.by(what).size() != (keeps_order(what) ? size : 0))
                return "an order of the workers is not of their number";
    }
    if (indexed != available || by_heard_.size() != judged) return "an index of the workers is too large";
    if (total != total_ || committed != committed_ || busy != busy_ || queued != queued_)
        return "the sums of the workers are wrong";
    return audit_hosts_and_offers();
}

std::optional<std::string> WorkerTable::audit_hosts_and_offers() const {
    std::map<Offer, std::uint64_t> offers;
    std::map<std::string, std::size_t> hosts;  // how many of its workers get tasks
    for (const auto& [id, worker] : workers_) {
        ++offers[worker.offer()];
        hosts[worker.host] += worker.available() ? 1 : 0;
        const auto* const there = of_host(worker.host);
        if (there == nullptr || !there->contains(id)) return "a worker's host does not know it";
    }
    std::size_t hosts_available = 0;
    for (const auto& [host, count] : hosts) {
        if (count != hosts_.at(host).available) return "the count of workers of " + host + " is wrong";
        hosts_available += count > 0 ? 1 : 0;
    }
    if (hosts.size() != hosts_.size() || hosts_available != hosts_available_)
        return "the count of hosts is wrong";
    if (offers != offers_) return "the offers of the workers are wrong";
    return std::nullopt;
}

}  // namespace wq::engine::model
