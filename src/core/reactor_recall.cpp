// What waits in one worker's launcher while another worker idles is called back: leases one by one, tickets
// by the end of their batch, after which they are leases.
#include <algorithm>

#include "core/reactor.h"

namespace wq::core {

namespace {
constexpr int workers_recalled_at_once = 16;
constexpr Duration longest_recall_pause = std::chrono::seconds(10);
}  // namespace

bool Reactor::someone_idles_while_leases_queue() const {
    if (stop_ || storage_trouble_ || reserved_ || !ledger_.ready_shapes().empty()) return false;
    bool idle = false;
    bool queued = false;
    for (const auto& [kind, places] : workers_.kinds()) {
        idle = idle || places.begin()->free_cores > 0;
        queued = queued || places.rbegin()->free_cores < 0;
    }
    return idle && queued;
}

// A rank that has seen the end of the batch finds nothing more, though others may have claimed more than they
// run: those that have enough ask for no more, and so give no account.
bool Reactor::some_have_yet_to_account() const {
    return batch_ && !batch_->revoked && !batch_->dry.empty() && !reserved_ && !stop_ && !storage_trouble_;
}

bool Reactor::a_dry_rank_idles() const {
    return std::any_of(batch_->dry.begin(), batch_->dry.end(), [&](WorkerId id) {
        const Worker* const rank = workers_.find(id);
        return rank != nullptr && rank->available() && share_by_ticket(rank->whole).fits_in(rank->free());
    });
}

void Reactor::watch_idle_workers(Now now) {
    if (!someone_idles_while_leases_queue() && !some_have_yet_to_account())
        idle_since_.reset();
    else if (!idle_since_)
        idle_since_ = now.instant;
}

void Reactor::recall_for_idle_workers(Now now, Actions& actions) {
    if (!idle_since_ || now.instant < *idle_since_ + recall_pause_) return;
    idle_since_ = now.instant;
    // What comes back may fit the idle ones no better; so look ever more rarely until some task has ended.
    recall_pause_ = std::min(2 * recall_pause_, longest_recall_pause);
    if (some_have_yet_to_account() && a_dry_rank_idles()) revoke(actions);
    if (someone_idles_while_leases_queue()) recall_leases(actions);
}

void Reactor::recall_leases(Actions& actions) {
    Count idle;
    int looked = 0;
    for (const auto& [kind, places] : workers_.kinds())
        for (auto it = places.begin();
             it != places.end() && it->free_cores > 0 && ++looked <= workers_recalled_at_once; ++it)
            idle += it->free_cores;
    // Those that have not answered yet are not asked again: what they give back is on its way, and fills idle
    // cores too.
    int asked = 0;
    for (const auto& [kind, places] : workers_.kinds())
        for (auto it = places.rbegin();
             it != places.rend() && it->free_cores < 0 && idle > 0 && ++asked <= workers_recalled_at_once;
             ++it)
            idle -= recall(*workers_.find(it->id), idle, actions);
}

// Leases for `cores` cores, at most; returns for how many.
Count Reactor::recall(Worker& worker, Count cores, Actions& actions) {
    const Count each = worker.cores_a_lease();
    if (worker.recalled == 0) {
        const std::int64_t enough = (cores.thousandths() + each.thousandths() - 1) / each.thousandths();
        worker.recalled = std::min(static_cast<std::uint64_t>(enough), worker.queue());
        actions.push_back(Recall{worker.id, worker.recalled});
    }
    return static_cast<std::int64_t>(worker.recalled) * each;
}

}  // namespace wq::core
