// Leases that wait in one worker's launcher while another worker idles are called back.
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
    for (const auto& [kind, by_free] : workers_.kinds()) {
        idle = idle || by_free.begin()->first < 0;
        queued = queued || by_free.rbegin()->first > 0;
    }
    return idle && queued;
}

void Reactor::watch_idle_workers(Now now) {
    if (!someone_idles_while_leases_queue())
        idle_since_.reset();
    else if (!idle_since_)
        idle_since_ = now.instant;
}

void Reactor::recall_for_idle_workers(Now now, Actions& actions) {
    if (!idle_since_ || now.instant < *idle_since_ + recall_pause_) return;
    idle_since_ = now.instant;
    // What comes back may fit the idle ones no better; so ask ever more rarely until some task has ended.
    recall_pause_ = std::min(2 * recall_pause_, longest_recall_pause);
    std::int64_t idle = 0;
    int looked = 0;
    for (const auto& [kind, by_free] : workers_.kinds())
        for (auto it = by_free.begin();
             it != by_free.end() && it->first < 0 && ++looked <= workers_recalled_at_once; ++it)
            idle -= it->first;
    int recalled = 0;
    for (const auto& [kind, by_free] : workers_.kinds())
        for (auto it = by_free.rbegin();
             it != by_free.rend() && it->first > 0 && idle > 0 && ++recalled <= workers_recalled_at_once;
             ++it) {
            workers_.find(it->second)->recalling = true;
            actions.push_back(Recall{it->second, static_cast<std::uint64_t>(std::min(idle, it->first))});
            idle -= it->first;
        }
}

}  // namespace wq::core
