#include "manager/worker_release.h"

#include <algorithm>

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

std::vector<std::pair<std::size_t, WorkerId>> WorkerRelease::by_load(const std::string* feature) const {
    std::vector<std::pair<std::size_t, WorkerId>> all;
    const scheduling::Reactor& reactor = router_.reactor();
    for (const auto& [id, worker] : reactor.workers().all()) {
        if (releasing_.contains(id)) continue;
        if (feature != nullptr &&
            (worker.disconnected() || std::ranges::find(worker.features, *feature) == worker.features.end()))
            continue;
        all.emplace_back(worker.leases.empty() && reactor.may_run(worker) ? 1 : worker.leases.size(), id);
    }
    std::sort(all.begin(), all.end());
    return all;
}

std::size_t WorkerRelease::shut_down(std::size_t workers, core::Now now) {
    auto those = by_load(nullptr);
    if (workers > 0 && workers < those.size()) those.resize(workers);
    for (const auto& [load, worker] : those) release(worker, now);
    dismiss_the_empty(now);
    return those.size();
}

void WorkerRelease::keep_at_most(std::size_t most, const std::string& feature, core::Now now) {
    auto those = by_load(&feature);
    those.resize(those.size() - std::min(most, those.size()));
    for (const auto& [load, worker] : those) release(worker, now);
    if (!those.empty()) dismiss_the_empty(now);
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
