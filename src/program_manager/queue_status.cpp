#include "program_manager/queue_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace wq::program_manager {

namespace {

using Json = nlohmann::ordered_json;

const char* name_of(TaskState state) {
    switch (state) {
        case TaskState::ready:
            return "WAITING";
        case TaskState::running:
            return "RUNNING";
        case TaskState::waiting_retrieval:
            return "WAITING_RETRIEVAL";
        case TaskState::retrieved:
            return "RETRIEVED";
        case TaskState::done:
            return "DONE";
        case TaskState::canceled:
            return "CANCELED";
        case TaskState::unknown:
            break;
    }
    return "UNKNOWN";
}

Json tasks_and_workers(const Statistics& stats) {
    return {{"tasks_waiting", stats.tasks_waiting},     {"tasks_on_workers", stats.tasks_on_workers},
            {"tasks_running", stats.tasks_running},     {"tasks_with_results", stats.tasks_with_results},
            {"tasks_submitted", stats.tasks_submitted}, {"tasks_dispatched", stats.tasks_dispatched},
            {"tasks_done", stats.tasks_done},           {"tasks_failed", stats.tasks_failed},
            {"tasks_cancelled", stats.tasks_cancelled}};
}

// Commands may not be UTF-8, but JSON must be.
std::string text_of(const Json& all) {
    return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

WorkerSummary summary_of(const core::Worker& worker) {
    WorkerSummary summary;
    summary.id = static_cast<std::int64_t>(worker.id.value());
    summary.host = worker.host;
    summary.connected = !worker.disconnected();
    summary.tasks = static_cast<std::int64_t>(worker.leases.size());
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

std::vector<WorkerSummary> summaries_of(const core::WorkerTable& workers) {
    std::vector<WorkerSummary> all;
    for (const auto& [id, worker] : workers.all()) all.push_back(summary_of(worker));
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

StatusOf status_of(std::string_view request) {
    for (const std::string_view word : {"queue", "queue_status", "manager", "resources_status"})
        if (request == word) return StatusOf::queue;
    for (const std::string_view word : {"tasks", "task_status"})
        if (request == word) return StatusOf::tasks;
    for (const std::string_view word : {"workers", "worker_status"})
        if (request == word) return StatusOf::workers;
    for (const std::string_view word : {"categories", "wable_status", "wable_resources"})
        if (request == word) return StatusOf::categories;
    return StatusOf::nothing;
}

std::string queue_as_json(const QueueOfStatus& queue, const Statistics& stats) {
    Json all = tasks_and_workers(stats);
    all["project"] = queue.project;
    all["port"] = queue.port;
    all["priority"] = queue.priority;
    all["workers"] = stats.workers_connected;
    all["workers_idle"] = stats.workers_idle;
    all["workers_busy"] = stats.workers_busy;
    all["workers_joined"] = stats.workers_joined;
    all["workers_removed"] = stats.workers_removed;
    all["bytes_sent"] = stats.bytes_sent;
    all["bytes_received"] = stats.bytes_received;
    all["time_when_started"] = stats.time_when_started;
    all["total_cores"] = stats.total_cores;
    all["total_memory"] = stats.total_memory;
    all["total_disk"] = stats.total_disk;
    return text_of(Json::array({all}));
}

std::string tasks_as_json(const std::vector<TaskOfStatus>& tasks) {
    Json all = Json::array();
    for (const auto& [id, state, spec, command] : tasks) {
        Json task{{"taskid", id},
                  {"state", name_of(state)},
                  {"command", command.empty() ? spec->command() : command},
                  {"category", spec->category()},
                  {"priority", spec->priority()}};
        if (!spec->tag().empty()) task["tag"] = spec->tag();
        all.push_back(std::move(task));
    }
    return text_of(all);
}

std::string workers_as_json(const std::vector<WorkerSummary>& workers) {
    Json all = Json::array();
    for (const WorkerSummary& one : workers)
        all.push_back({{"hostname", one.host},
                       {"workerid", std::to_string(one.id)},
                       {"connected", one.connected},
                       {"total_tasks_running", one.tasks},
                       {"cores_total", one.cores},
                       {"cores_inuse", one.cores_used},
                       {"memory_total", one.memory},
                       {"memory_inuse", one.memory_used},
                       {"disk_total", one.disk},
                       {"disk_inuse", one.disk_used},
                       {"gpus_total", one.gpus},
                       {"gpus_inuse", one.gpus_used}});
    return text_of(all);
}

std::string categories_as_json(const std::vector<std::pair<CategorySummary, Statistics>>& categories) {
    Json all = Json::array();
    for (const auto& [one, stats] : categories) {
        Json category = tasks_and_workers(stats);
        category["category"] = one.name;
        category["fit_workers"] = one.fit_workers;
        category["max_cores"] = one.max_cores;
        category["max_memory"] = one.max_memory;
        category["max_disk"] = one.max_disk;
        all.push_back(std::move(category));
    }
    return text_of(all);
}

}  // namespace wq::program_manager
