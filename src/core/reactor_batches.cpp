// Sealing, and settling the accounts of a batch that has run dry.
#include <algorithm>
#include <utility>

#include "core/reactor.h"

namespace wq::core {

namespace {
// A batch pays from so many tickets a core of the pool; below, leases spread the work better.
constexpr std::uint64_t tickets_per_core = 16;
constexpr int shapes_looked_at = 64;
}  // namespace

void Reactor::seal_where_tasks_abound(Now now, Actions& actions) {
    // A rank claims what it likes: while a task is to run alone, nobody may claim.
    if (!options_.seal_batches || batch_ || pool_.empty() || last_chances_ > 0 ||
        now.instant < pool_settled_at_)
        return;
    int looked = 0;
    std::optional<double> most_urgent;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (++looked > shapes_looked_at) return;
        // The pool would claim them before what is more urgent and could be leased to it.
        if (most_urgent && head.priority < *most_urgent) return;
        IntervalSet tasks = sealable(head.shape);
        if (!tasks.empty()) return seal(head.shape, std::move(tasks), now, actions);
        if (!most_urgent && fits_whole_pool(head.shape)) most_urgent = head.priority;
    }
}

// Every rank of the pool must be able to run one: a rank does not choose its tickets.
bool Reactor::fits_whole_pool(ShapeId shape) {
    if (state_of(shape).misfit == pool_version_) return false;
    for (const WorkerId rank : pool_) {
        const Worker& worker = *workers_.find(rank);
        if (ever_holds(worker.whole, worker.features, shape)) continue;
        state_of(shape).misfit = pool_version_;
        return false;
    }
    return true;
}

// Of its most urgent tasks.
IntervalSet Reactor::sealable(ShapeId shape) {
    const auto total_cores = static_cast<std::uint64_t>(workers_.available_cores());
    const std::uint64_t enough = tickets_per_core * total_cores;
    // Ranks know of no bound on what is due.
    const bool bounded = options_.allocation.proportional && asked(shape).at_most != Needs{};
    if (ledger_.shape(shape).leased_only || !asked(shape).plain() || bounded ||
        options_.monitoring.enforces || state_of_category(shape).category.max_concurrent() >= 0)
        return {};
    const auto& queues = ledger_.ready(shape).queues;
    if (queues.begin()->second.fresh.count() < enough || ledger_.shape(shape).min_time > Duration{0})
        return {};
    if (!fits_whole_pool(shape)) return {};
    IntervalSet tasks = queues.begin()->second.fresh;
    doubtful_.for_each([&](Interval part) { tasks.erase(part); });
    if (tasks.count() < enough) return {};
    std::uint64_t pool_cores = 0;
    for (const WorkerId rank : pool_)
        pool_cores += static_cast<std::uint64_t>(workers_.find(rank)->whole.cores.rounded_down());
    if (pool_cores >= total_cores) return tasks;
    // The share of those that take no tickets stays to be leased.
    const double share = static_cast<double>(pool_cores) / static_cast<double>(total_cores);
    IntervalSet part;
    auto most = static_cast<std::uint64_t>(static_cast<double>(tasks.count()) * share);
    while (most > 0) {
        const Interval taken = *tasks.take_front(most);
        part.insert(taken);
        most -= taken.size();
    }
    return part;
}

void Reactor::seal(ShapeId shape, IntervalSet tasks, Now now, Actions& actions) {
    const Shape& what = ledger_.shape(shape);
    tasks.for_each([&](Interval part) { ledger_.change(part, TaskEvent::seal); });
    batch_.emplace();
    batch_->id = BatchId(next_batch_++);
    batch_->shape = shape;
    batch_->ask = asked(shape);
    batch_->rules = options_.allocation;
    batch_->priority = ledger_.priority(TaskId(tasks.front()->first));
    batch_->sealed_at = now.instant;
    batch_->members = pool_;
    batch_->outstanding = tasks;
    actions.push_back(Seal{batch_->id, std::move(tasks), batch_->ask.needs, batch_->rules, what.timeout,
                           watch_of(shape, {})});
}

void Reactor::revoke(Actions& actions) {
    if (!batch_ || batch_->revoked) return;
    batch_->revoked = true;
    for (const WorkerId member : batch_->members) workers_.changed(*workers_.find(member));
    actions.push_back(Revoke{batch_->id});
}

void Reactor::on_event(const TicketsReported& event, Now now, Actions& actions) {
    if (!batch_ || batch_->id != event.batch || !batch_->members.contains(event.worker)) {
        ++stale_;
        return;
    }
    if (event.saw_dry) account(*workers_.find(event.worker), event.holding, now, actions);
}

// A member claims no more of the batch, and holds these of it.
void Reactor::account(Worker& worker, const IntervalSet& holding, Now now, Actions& actions) {
    if (!batch_->dry.insert(worker.id).second) return;
    IntervalSet held;
    holding.for_each([&](Interval part) {
        batch_->outstanding.for_each_in(part, [&](Interval range) { held.insert(range); });
    });
    held.for_each([&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) adopt(worker, TaskId(id), now);
    });
    workers_.changed(worker);
    reconcile(now, actions);
}

// Leases go before tickets at a rank: it gets none that is less urgent than the tickets.
bool Reactor::has_more_urgent_tickets(const Worker& worker, double priority) const {
    return may_claim(worker) && !batch_->revoked && priority < batch_->priority;
}

// A ticket that a rank holds becomes a lease, without a word to the rank.
void Reactor::adopt(Worker& worker, TaskId task, Now now) {
    ledger_.change(task, TaskEvent::give_back);
    ledger_.change(task, TaskEvent::lease);
    take_ticket_back(worker.id, task, now.wall);
    Attempted& attempted = ledger_.attempted(task);
    attempted.since = now.instant;
    attempted.told_to_end = false;
    workers_.lease(worker, task, attempted.given);
    if (watches_pace_) watch_pace(task, attempted);
    watch_for_copy(task, attempted);
    count_for(task, [](ManagerStats& stats) { ++stats.tasks_dispatched; });
}

void Reactor::reconcile(Now now, Actions& actions) {
    if (batch_->dry.size() < batch_->members.size()) return;
    // A lost node takes its unclaimed tickets with it. Where more is missing than its ranks could run, nobody
    // is blamed, but none of these is sealed again: a lease says who held it.
    std::int64_t lanes = 0;
    for (const LostMember& member : batch_->lost) lanes += member.whole.cores.rounded_down();
    const bool lost = !batch_->lost.empty();
    const bool blame = lost && batch_->outstanding.count() <= 2 * static_cast<std::uint64_t>(lanes);
    std::exchange(batch_->outstanding, {}).for_each([&](Interval part) {
        if (lost || batch_->left) doubtful_.insert(part);
        if (!blame) return ledger_.change(part, TaskEvent::give_back);
        for (std::uint64_t id = part.first; id < part.end; ++id) lose_ticket(TaskId(id), now, actions);
    });
    close_batch_if_over(actions);
}

// Who had claimed it is known where one member was lost, and not where several were.
void Reactor::lose_ticket(TaskId task, Now now, Actions& actions) {
    Attempted& attempted = ledger_.attempted(task);
    attempted.attempt = 1;
    attempted.by_ticket = true;
    if (batch_->lost.size() == 1) {
        const LostMember& member = batch_->lost.front();
        attempted.worker = member.worker;
        attempted.given = share_by_ticket(member.whole);
        return lose(task, member.reason, true, now, actions);
    }
    std::string ids;
    for (const LostMember& member : batch_->lost)
        ids += (ids.empty() ? "" : ", ") + std::to_string(member.worker.value());
    attempted.worker = unknown_worker;
    lose(task, "one of the lost workers " + ids + " had claimed it", true, now, actions);
}

void Reactor::close_batch_if_over(Actions& actions) {
    if (!batch_ || !batch_->outstanding.empty()) return;
    actions.push_back(BatchOver{batch_->id});
    for (const WorkerId member : batch_->members) workers_.changed(*workers_.find(member));
    batch_.reset();
    for (const ShapeId shape : ledger_.suspect_shapes()) awakened_.push_back(shape);
}

}  // namespace wq::core
