#include "engine/policies/ticket_batches.h"

#include <algorithm>
#include <utility>

namespace wq::engine::policies {

namespace {

// A batch pays off from this many tickets per core of the pool. Below, leases spread the work better.
constexpr std::uint64_t tickets_per_core = 16;
constexpr int shapes_tried = 64;

}  // namespace

// ---- sealing ----

void TicketBatches::seal_where_tasks_abound() {
    // Ranks claim tickets without asking, so nobody may claim while a task must run alone.
    if (!state_.options.seal_batches || batch_ || state_.pool.ticket_ranks().empty() ||
        attempts_.last_chances() > 0 || now() < state_.pool.ranks_settled_at())
        return;
    int looked = 0;
    std::optional<double> most_urgent;
    for (const ReadyHead& head : ledger_.ready_shapes()) {
        if (++looked > shapes_tried) return;
        // Ranks would claim these tasks before higher-priority tasks that could be leased to them.
        if (most_urgent && head.priority < *most_urgent) return;
        IntervalSet tasks = sealable(head.shape);
        if (!tasks.empty()) return seal(head.shape, std::move(tasks));
        if (!most_urgent && fits_all_ranks(head.shape)) most_urgent = head.priority;
    }
}

// Every rank must be able to run the shape, because a rank cannot choose its tickets.
bool TicketBatches::fits_all_ranks(ShapeId shape) {
    if (misfit_[shape] == state_.pool.version()) return false;
    for (const WorkerId rank : state_.pool.ticket_ranks()) {
        const Worker& worker = *workers_.find(rank);
        if (fit_.ever_holds(worker.whole, worker.features, shape)) continue;
        misfit_[shape] = state_.pool.version();
        return false;
    }
    return true;
}

// The shape's highest-priority tasks, as far as they can be sealed.
IntervalSet TicketBatches::sealable(ShapeId shape) {
    const Shape& what = ledger_.shape(shape);
    const auto total_cores = static_cast<std::uint64_t>(workers_.available_cores());
    const std::uint64_t enough = tickets_per_core * total_cores;
    // Ranks do not know the upper bounds of allocations.
    const bool bounded =
        state_.options.allocation.rest != Rest::with_cores && state_.asked(shape).at_most != Needs{};
    if (what.leased_only || what.large || !state_.asked(shape).plain() || bounded ||
        state_.options.monitoring.enforces || state_.category(what.category).max_concurrent() >= 0)
        return {};
    const auto& queues = ledger_.ready(shape).queues;
    if (queues.begin()->second.fresh.count() < enough || what.min_time > Duration{0}) return {};
    if (!fits_all_ranks(shape)) return {};
    IntervalSet tasks = queues.begin()->second.fresh;
    doubtful_.for_each([&](Interval part) { tasks.erase(part); });
    if (tasks.count() < enough) return {};
    std::uint64_t rank_cores = 0;
    for (const WorkerId rank : state_.pool.ticket_ranks())
        rank_cores += static_cast<std::uint64_t>(workers_.find(rank)->whole.cores.rounded_down());
    if (rank_cores >= total_cores) return tasks;
    // The share of the workers that take no tickets is kept for leases.
    const double share = static_cast<double>(rank_cores) / static_cast<double>(total_cores);
    IntervalSet part;
    auto most = static_cast<std::uint64_t>(static_cast<double>(tasks.count()) * share);
    while (most > 0) {
        const Interval taken = *tasks.take_front(most);
        part.insert(taken);
        most -= taken.size();
    }
    return part;
}

void TicketBatches::seal(ShapeId shape, IntervalSet tasks) {
    tasks.for_each([&](Interval part) { ledger_.change(part, TaskEvent::seal); });
    Batch& batch = batch_.emplace();
    batch.id = BatchId(next_batch_++);
    batch.shape = shape;
    batch.ask = state_.asked(shape);
    batch.rules = state_.options.allocation;
    batch.priority = ledger_.priority(TaskId(tasks.front()->first));
    batch.sealed_at = now();
    batch.members = state_.pool.ticket_ranks();
    batch.outstanding = tasks;
    act(Seal{batch.id, std::move(tasks), batch.ask.needs, batch.rules, ledger_.shape(shape).timeout,
             fit_.watch_of(shape, {})});
}

// ---- accounts ----

void TicketBatches::on(const TicketsReported& event) {
    if (!batch_ || batch_->id != event.batch || !batch_->members.contains(event.worker)) {
        counters_.count_stale();
        return;
    }
    if (event.saw_dry) account(*workers_.find(event.worker), event.holding);
}

void TicketBatches::reconnected(Worker& worker, const IntervalSet& tickets) {
    if (batch_ && batch_->members.contains(worker.id)) account(worker, tickets);
}

// A member claims no more tickets of the batch, and holds these.
void TicketBatches::account(Worker& worker, const IntervalSet& holding) {
    if (!batch_->dry.insert(worker.id).second) return;
    IntervalSet held;
    holding.for_each([&](Interval part) {
        batch_->outstanding.for_each_in(part, [&](Interval range) { held.insert(range); });
    });
    held.for_each([&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) attempts_.adopt_ticket(worker, TaskId(id));
    });
    workers_.changed(worker);
    reconcile();
}

void TicketBatches::worker_gone(const RemovedWorker& worker) {
    if (!batch_ || batch_->members.erase(worker.id) == 0) return;
    // One that gave its account holds no ticket that it did not name.
    const bool accounted = batch_->dry.erase(worker.id) != 0;
    if (!accounted && worker.how == Parting::lost)
        batch_->lost.push_back({worker.id, worker.reason, worker.whole});
    if (!accounted && worker.how == Parting::left) batch_->left = true;
    reconcile();
}

void TicketBatches::reconcile() {
    Batch& batch = *batch_;
    if (batch.dry.size() < batch.members.size()) return;
    // A lost node takes its unclaimed tickets with it. If more tickets are missing than its ranks could run,
    // nobody is blamed. None of these is sealed again, because a lease shows who held the task.
    std::int64_t lanes = 0;
    for (const LostMember& member : batch.lost) lanes += member.whole.cores.rounded_down();
    const bool lost = !batch.lost.empty();
    const bool blame = lost && batch.outstanding.count() <= 2 * static_cast<std::uint64_t>(lanes);
    std::exchange(batch.outstanding, {}).for_each([&](Interval part) {
        if (lost || batch.left) doubtful_.insert(part);
        if (!blame) return ledger_.change(part, TaskEvent::give_back);
        for (std::uint64_t id = part.first; id < part.end; ++id) lose_ticket(TaskId(id));
    });
    close_if_over();
}

// If only one member was lost, it had claimed the ticket. If several were lost, we do not know which one had.
void TicketBatches::lose_ticket(TaskId task) {
    Attempted& attempted = ledger_.attempted(task);
    attempted.attempt = 1;
    attempted.by_ticket = true;
    const std::vector<LostMember>& lost = batch_->lost;
    if (lost.size() == 1) {
        attempted.worker = lost.front().worker;
        attempted.given = fit_.share_by_ticket(lost.front().whole);
        return attempts_.lose(task, lost.front().reason, Blame::task);
    }
    std::string ids;
    for (const LostMember& member : lost)
        ids += (ids.empty() ? "" : ", ") + std::to_string(member.worker.value());
    attempted.worker = unknown_worker;
    attempts_.lose(task, "one of the lost workers " + ids + " had claimed it", Blame::task);
}

void TicketBatches::close_if_over() {
    if (!batch_ || !batch_->outstanding.empty()) return;
    act(BatchOver{batch_->id});
    for (const WorkerId member : batch_->members) workers_.changed(*workers_.find(member));
    batch_.reset();
    for (const ShapeId shape : ledger_.suspect_shapes()) awaken(shape);
}

// Revokes a batch that was sealed with the old monitoring.
void TicketBatches::tuned(const Tuned& event) {
    if (!event.monitoring || *event.monitoring == state_.options.monitoring) return;
    options_.monitoring = *event.monitoring;
    revoke_batch();
}

std::optional<std::string> TicketBatches::audit() const {
    const std::uint64_t outstanding = batch_ ? batch_->outstanding.count() : 0;
    if (outstanding != ledger_.count(TaskState::sealed))
        return std::to_string(ledger_.count(TaskState::sealed)) + " tasks are sealed, the batch has " +
               std::to_string(outstanding);
    for (const WorkerId rank : state_.pool.ticket_ranks())
        if (!workers_.find(rank)->available()) return "a rank that takes tickets gets no tasks";
    return std::nullopt;
}

}  // namespace wq::engine::policies
