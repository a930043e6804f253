#include "program_manager/worker_summaries.h"

#include <algorithm>
#include <tuple>

namespace wq::program_manager {

namespace {

DispatchedTask dispatched(TaskId task, const core::Ledger& ledger) {
    DispatchedTask one;
    one.id = static_cast<std::int64_t>(task.value()) + 1;
    one.submitted = ledger.submitted(task);
    const core::Attempted* const attempted = ledger.find_attempted(task);
    if (attempted == nullptr) return one;
    one.cores = attempted->given.cores.as_double();
    one.memory = attempted->given.memory_mb;
    one.disk = attempted->given.disk_mb;
    one.gpus = attempted->given.gpus.as_double();
    one.dispatched = attempted->dispatched_us;
    return one;
}

WorkerSummary summary_of(const core::Worker& worker, const manager::Manager& manager) {
    WorkerSummary summary;
    summary.id = static_cast<std::int64_t>(worker.id.value());
    summary.host = worker.host;
    summary.features = worker.features;
    summary.connected = !worker.disconnected();
    if (const records::WorkerRecord* const record = manager.worker(worker.id)) {
        summary.address = record->address;
        summary.os = record->os;
        summary.arch = record->arch;
        summary.joined = record->joined_us;
    }
    summary.tasks_ended = static_cast<std::int64_t>(manager.records().ended_on(worker.id));
    summary.tasks = static_cast<std::int64_t>(worker.leases.size());
    for (const TaskId task : worker.leases)
        summary.dispatched.push_back(dispatched(task, manager.reactor().ledger()));
    std::sort(summary.dispatched.begin(), summary.dispatched.end(),
              [](const DispatchedTask& a, const DispatchedTask& b) { return a.id < b.id; });
    summary.cores = worker.whole.cores.as_double();
    summary.memory = worker.whole.memory_mb;
    summary.disk = worker.whole.disk_mb;
    summary.gpus = worker.whole.gpus.as_double();
    // Leases may wait in its launcher.
    summary.cores_used = std::min(summary.cores, worker.used.cores.as_double());
    summary.memory_used = std::min(summary.memory, worker.used.memory_mb);
    summary.disk_used = std::min(summary.disk, worker.used.disk_mb);
    summary.gpus_used = std::min(summary.gpus, worker.used.gpus.as_double());
    return summary;
}

}  // namespace

std::vector<WorkerSummary> summaries_of(const manager::Manager& manager) {
    std::vector<WorkerSummary> all;
    for (const auto& [id, worker] : manager.reactor().workers().all())
        all.push_back(summary_of(worker, manager));
    std::sort(all.begin(), all.end(),
              [](const WorkerSummary& a, const WorkerSummary& b) { return a.id < b.id; });
    return all;
}

std::vector<WorkerGroup> groups_of(const std::vector<WorkerSummary>& workers) {
    std::vector<WorkerGroup> groups;
    for (const WorkerSummary& worker : workers) {
        if (!worker.connected) continue;
        const auto is_of = [&](const WorkerGroup& group) {
            return std::tie(group.cores, group.memory, group.disk, group.gpus) ==
                   std::tie(worker.cores, worker.memory, worker.disk, worker.gpus);
        };
        auto group = std::find_if(groups.begin(), groups.end(), is_of);
        if (group == groups.end())
            group = groups.insert(groups.end(), {0, worker.cores, worker.memory, worker.disk, worker.gpus});
        ++group->workers;
    }
    return groups;
}

}  // namespace wq::program_manager
