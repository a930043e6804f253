#include "manager/worker_release.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "manager/run_records.h"

namespace wq::manager {

std::size_t WorkerRelease::drain(const std::string& host, bool on, core::Now now) {
    std::vector<WorkerId> there;  // includes disconnected workers: they may reconnect
    for (const auto& [id, worker] : router_.reactor().workers().all())
        if (worker.host == host) there.push_back(id);
    for (const WorkerId worker : there) {
        if (on)
            release(worker, now);
        else if (releasing_.erase(worker) > 0 && !leaving_.contains(worker))
            router_.react(core::WorkerDraining{worker, false}, now);
    }
    if (on) dismiss_the_empty(now);
    return there.size();
}

std::size_t WorkerRelease::shut_down(std::size_t workers, core::Now now) {
    std::vector<std::pair<std::size_t, WorkerId>> by_load;
    const scheduling::Reactor& reactor = router_.reactor();
    for (const auto& [id, worker] : reactor.workers().all())
        if (!releasing_.contains(id))
            by_load.emplace_back(worker.leases.empty() && reactor.may_run(worker) ? 1 : worker.leases.size(),
                                 id);
    std::sort(by_load.begin(), by_load.end());
    if (workers > 0 && workers < by_load.size()) by_load.resize(workers);
    for (const auto& [load, worker] : by_load) release(worker, now);
    dismiss_the_empty(now);
    return by_load.size();
}

void WorkerRelease::tick(core::Now now) {
    if (!releasing_.empty()) dismiss_the_empty(now);
}

void WorkerRelease::release(WorkerId worker, core::Now now) {
    if (!releasing_.insert(worker).second) return;
    router_.react(core::WorkerDraining{worker, true, true}, now);
}

void WorkerRelease::dismiss_the_empty(core::Now now) {
    for (const WorkerId id : std::vector<WorkerId>(releasing_.begin(), releasing_.end())) {
        const core::Worker* const worker = router_.reactor().workers().find(id);
        if (worker != nullptr && (worker->disconnected() || router_.reactor().may_run(*worker))) continue;
        releasing_.erase(id);
        const Link* const link = links_.of(id);
        if (link == nullptr) continue;
        const bool without_ranks = sessions_.lost_a_rank() || link->session == nullptr;
        ++released_;
        sessions_.dismiss(id, {"the manager released it", without_ranks, true}, told_to_leave,
                          records::Departure::asked, now);
    }
}

}  // namespace wq::manager
