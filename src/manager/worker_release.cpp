#include "manager/worker_release.h"

#include <algorithm>

#include "manager/run_records.h"

namespace wq::manager {

std::size_t WorkerRelease::drain(const std::string& host, bool on, engine::model::Now now) {
    std::vector<WorkerId> there;  // includes disconnected workers: they may reconnect
    for (const auto& [id, worker] : router_.reactor().workers().all())
        if (worker.host == host) there.push_back(id);
    for (const WorkerId worker : there) {
        if (on)
            release(worker, now);
        else if (releasing_.erase(worker) > 0 && !leaving_.contains(worker))
            router_.react(engine::model::WorkerDraining{worker, false}, now);
    }
    if (on) dismiss_the_empty(now);
    return there.size();
}

WorkerRelease::Load WorkerRelease::load_of(const engine::model::Worker& worker) const {
    const std::size_t leases = worker.leases.size();
    return {leases == 0 && router_.reactor().may_run(worker) ? 1 : leases, worker.id};
}

std::size_t WorkerRelease::shut_down(std::size_t workers, engine::model::Now now) {
    std::vector<Load> those;
    for (const auto& [id, worker] : router_.reactor().workers().all())
        if (!releasing_.contains(id)) those.push_back(load_of(worker));
    std::sort(those.begin(), those.end());
    if (workers > 0 && workers < those.size()) those.resize(workers);
    for (const auto& [load, worker] : those) release(worker, now);
    dismiss_the_empty(now);
    return those.size();
}

void WorkerRelease::keep_at_most(const std::map<std::string, std::size_t>& of_factory,
                                 engine::model::Now now) {
    std::map<std::string, std::vector<Load>> workers;
    for (const auto& [id, worker] : router_.reactor().workers().all()) {
        if (releasing_.contains(id) || worker.disconnected()) continue;
        for (const std::string& feature : worker.features)
            if (feature.starts_with(engine::model::factory_feature))
                workers[feature.substr(engine::model::factory_feature.size())].push_back(load_of(worker));
    }
    for (auto& [factory, those] : workers) {
        const auto most = of_factory.find(factory);
        if (most == of_factory.end() || those.size() <= most->second) continue;
        std::sort(those.begin(), those.end());
        those.resize(those.size() - most->second);
        for (const auto& [load, worker] : those) release(worker, now);
    }
    if (!releasing_.empty()) dismiss_the_empty(now);
}

void WorkerRelease::tick(engine::model::Now now) {
    if (!releasing_.empty()) dismiss_the_empty(now);
}

void WorkerRelease::release(WorkerId worker, engine::model::Now now) {
    if (!releasing_.insert(worker).second) return;
    router_.react(engine::model::WorkerDraining{worker, true, true}, now);
}

void WorkerRelease::dismiss_the_empty(engine::model::Now now) {
    for (const WorkerId id : std::vector<WorkerId>(releasing_.begin(), releasing_.end())) {
        const engine::model::Worker* const worker = router_.reactor().workers().find(id);
        if (worker != nullptr && (worker->disconnected() || router_.reactor().may_run(*worker))) continue;
        releasing_.erase(id);
        const Link* const link = links_.of(id);
        if (link == nullptr) continue;
        const bool without_ranks = sessions_.lost_a_rank() || link->session == nullptr;
        ++released_;
        sessions_.dismiss(id, {"the manager released it", without_ranks, true}, told_to_leave,
                          records::journal::Departure::asked, now);
    }
}

}  // namespace wq::manager
