// What waits in one worker's launcher while another worker idles is called back: leases one by one, tickets
// by the end of their batch, after which they are leases.
#include <algorithm>
#include <array>

#include "core/reactor.h"

namespace wq::core {

namespace {
constexpr int workers_recalled_at_once = 16;
constexpr Duration longest_recall_pause = std::chrono::seconds(10);
// Of what workers may have too little for their leases while others have some left.
constexpr std::array<Scarce, 4> recalled_for{Scarce::cores, Scarce::gpus, Scarce::memory, Scarce::disk};
}  // namespace

bool Reactor::someone_idles_while_leases_queue() const {
    if (stop_ || storage_trouble_ || reserved_ || !ledger_.ready_shapes().empty()) return false;
    return std::any_of(recalled_for.begin(), recalled_for.end(), [&](Scarce what) {
        if (!workers_.keeps_order(what)) return false;
        bool idle = false;
        bool queued = false;
        for (const auto& [kind, of_kind] : workers_.kinds()) {
            idle = idle || of_kind.by(what).begin()->room > 0;
            queued = queued || of_kind.by(what).rbegin()->room < 0;
        }
        return idle && queued;
    });
}

// A rank that has seen the end of the batch finds nothing more, though others may have claimed more than they
// run: those that have enough ask for no more, and so give no account.
bool Reactor::some_have_yet_to_account() const {
    return batch_ && !batch_->revoked && !batch_->dry.empty() && !reserved_ && !stop_ && !storage_trouble_;
}

bool Reactor::a_dry_rank_idles() const {
    return std::any_of(batch_->dry.begin(), batch_->dry.end(), [&](WorkerId id) {
        const Worker* const rank = workers_.find(id);
        return rank != nullptr && rank->available() && rank->fits(share_by_ticket(rank->whole));
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
    for (const Scarce what : recalled_for)
        if (workers_.keeps_order(what)) recall_leases(what, actions);
}

void Reactor::recall_leases(Scarce what, Actions& actions) {
    std::int64_t idle = 0;
    int looked = 0;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        const Places& places = of_kind.by(what);
        for (auto it = places.begin();
             it != places.end() && it->room > 0 && ++looked <= workers_recalled_at_once; ++it)
            idle += it->room;
    }
    // Those that have not answered yet are not asked again: what they give back is on its way, and fills idle
    // workers too.
    int asked = 0;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        const Places& places = of_kind.by(what);
        for (auto it = places.rbegin();
             it != places.rend() && it->room < 0 && idle > 0 && ++asked <= workers_recalled_at_once; ++it)
            idle -= recall(*workers_.find(it->id), what, idle, actions);
    }
}

// Leases for so much of it, at most; returns for how much.
std::int64_t Reactor::recall(Worker& worker, Scarce what, std::int64_t amount, Actions& actions) {
    const std::int64_t each = worker.a_lease(what);
    if (worker.recalled == 0) {
        const std::int64_t enough = (amount + each - 1) / each;
        worker.recalled = std::min(static_cast<std::uint64_t>(enough), worker.queue(what));
        actions.push_back(Recall{worker.id, worker.recalled});
    }
    return static_cast<std::int64_t>(worker.recalled) * each;
}

}  // namespace wq::core
