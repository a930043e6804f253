// Sealing, and settling the accounts of a batch that has run dry.
#include "core/reactor.h"

namespace wq::core {

namespace {
// A batch pays from so many tickets a core of the pool; below, leases spread the work better.
constexpr std::uint64_t tickets_per_core = 16;
}  // namespace

void Reactor::seal_where_tasks_abound(Actions& actions) {
    if (!options_.seal_batches || batch_ || stop_ || storage_trouble_ || pool_.empty()) return;
    const auto cores = static_cast<std::uint64_t>(workers_.total().cores);
    for (const auto& [head, shape] : ledger_.ready_shapes()) {
        const IntervalSet& ready = ledger_.ready(shape);
        const Shape& what = ledger_.shape(shape);
        if (ready.count() < tickets_per_core * cores || !what.workers.empty() || what.min_time > Duration{0}) continue;
        // Every rank of the pool must be able to run one: a rank does not choose its tickets.
        bool all_fit = true;
        for (const WorkerId rank : pool_) {
            const Resources& whole = workers_.find(rank)->whole;
            all_fit = all_fit && allocate(what.needs, whole).fits_in(whole);
        }
        if (!all_fit) continue;
        IntervalSet fresh = ready;  // a ticket is attempt 1: what was out before is leased
        std::vector<TaskId> with_history;
        ready.for_each([&](Interval part) {
            ledger_.for_each_attempted(part, [&](TaskId task) { with_history.push_back(task); });
        });
        for (const TaskId task : with_history) fresh.erase(task.value());
        if (fresh.count() < tickets_per_core * cores) continue;
        Batch batch;
        batch.id = BatchId(next_batch_++);
        batch.shape = shape;
        batch.outstanding = fresh;
        fresh.for_each([&](Interval part) { ledger_.change(part, TaskEvent::seal); });
        actions.push_back(Seal{batch.id, fresh, what.needs, what.timeout, what.needs.memory_mb > 0 ? what.needs.memory_mb : 0});
        batch_ = std::move(batch);
        return;
    }
}

void Reactor::on_event(const TicketsReported& event, Now now, Actions& actions) {
    if (!batch_ || batch_->id != event.batch || !pool_.contains(event.worker)) {
        ++stale_;
        return;
    }
    if (!event.saw_dry) return;
    batch_->accounts.insert_or_assign(event.worker, event.holding);
    reconcile(now, actions);
}

void Reactor::reconcile(Now now, Actions& actions) {
    if (!batch_) return;
    if (!batch_->outstanding.empty()) {
        const auto missing = batch_->missing(pool_);
        if (!missing || missing->empty()) return;
        // A lost node takes its unclaimed tickets with it. Only as many as its lost ranks could run are to blame.
        const bool blame = missing->count() <= 2 * batch_->lost_lanes;
        missing->for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id) {
                batch_->outstanding.erase(id);
                if (!blame) {
                    ledger_.change(TaskId(id), TaskEvent::give_back);
                    continue;
                }
                ledger_.attempted(TaskId(id)).attempt = 1;
                lose(TaskId(id), "a rank that claimed it was lost", true, now, actions);
            }
        });
    }
    if (!batch_->outstanding.empty()) return;
    actions.push_back(BatchOver{batch_->id});
    batch_.reset();
}

}  // namespace wq::core
