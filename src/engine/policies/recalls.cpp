#include "engine/policies/recalls.h"

#include <algorithm>
#include <array>

namespace wq::engine::policies {

namespace {

constexpr int workers_recalled_at_once = 16;
constexpr Duration longest_recall_pause = std::chrono::seconds(10);
// The resources that may be short for one worker's leases while other workers have some left.
constexpr std::array<Scarce, 5> recalled_for{Scarce::cores, Scarce::gpus, Scarce::memory, Scarce::disk,
                                             Scarce::coprocesses};

}  // namespace

bool Recalls::someone_idles_while_leases_queue() const {
    if (!state_.run.may_dispatch() || state_.pool.reserved() || !ledger_.ready_shapes().empty()) return false;
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

// A rank that has reached the end of the batch finds no more tickets. Others may have claimed more than they
// run; they claim no more, so they never report what they hold.
bool Recalls::some_have_yet_to_account() const {
    return state_.batch && !state_.batch->revoked && !state_.batch->dry.empty() && !state_.pool.reserved() &&
           state_.run.may_dispatch();
}

bool Recalls::a_dry_rank_idles() const {
    return std::any_of(state_.batch->dry.begin(), state_.batch->dry.end(), [&](WorkerId id) {
        const Worker* const rank = workers_.find(id);
        return rank != nullptr && rank->available() && rank->fits(fit_.share_by_ticket(rank->whole));
    });
}

void Recalls::watch_idle_workers() {
    if (!someone_idles_while_leases_queue() && !some_have_yet_to_account())
        idle_since_.reset();
    else if (!idle_since_)
        idle_since_ = now();
}

std::optional<Instant> Recalls::next_due() const {
    if (!idle_since_) return std::nullopt;
    return *idle_since_ + pause_;
}

void Recalls::tick() {
    if (!idle_since_ || now() < *idle_since_ + pause_) return;
    idle_since_ = now();
    // Recalled tasks may not fit the idle workers any better, so the pauses grow until a task ends.
    pause_ = std::min(2 * pause_, longest_recall_pause);
    if (some_have_yet_to_account() && a_dry_rank_idles()) revoke_batch();
    if (!someone_idles_while_leases_queue()) return;
    for (const Scarce what : recalled_for)
        if (workers_.keeps_order(what)) recall_leases(what);
}

void Recalls::recall_leases(Scarce what) {
    std::int64_t idle = 0;
    int looked = 0;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        const Places& places = of_kind.by(what);
        for (auto it = places.begin();
             it != places.end() && it->room > 0 && ++looked <= workers_recalled_at_once; ++it)
            idle += it->room;
    }
    // Workers that have not answered yet are not asked again: the tasks they return are on their way.
    int asked = 0;
    for (const auto& [kind, of_kind] : workers_.kinds()) {
        const Places& places = of_kind.by(what);
        for (auto it = places.rbegin();
             it != places.rend() && it->room < 0 && idle > 0 && ++asked <= workers_recalled_at_once; ++it)
            idle -= recall(*workers_.find(it->id), what, idle);
    }
}

// Recalls leases that use up to `amount` of the resource; returns how much they use.
std::int64_t Recalls::recall(Worker& worker, Scarce what, std::int64_t amount) {
    const std::int64_t each = worker.a_lease(what);
    if (worker.recalled == 0) {
        const std::int64_t enough = (amount + each - 1) / each;
        worker.recalled = std::min(static_cast<std::uint64_t>(enough), worker.queue(what));
        act(Recall{worker.id, worker.recalled});
    }
    return static_cast<std::int64_t>(worker.recalled) * each;
}

}  // namespace wq::engine::policies
