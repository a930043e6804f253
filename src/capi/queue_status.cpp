// The state of a queue as JSON.
#include <cstring>
#include <nlohmann/json.hpp>

#include "capi/guard.h"
#include "capi/queue.h"

namespace wq::capi {

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

Json of_queue(const work_queue& queue, const Manager& manager) {
    const Statistics stats = manager.stats();
    Json all = tasks_and_workers(stats);
    all["project"] = queue.options().name;
    all["port"] = queue.port();
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
    return Json::array({all});
}

Json of_tasks(const work_queue& queue, const Manager& manager) {
    std::map<int, Json> sorted;
    for (const auto& [id, box] : queue.tasks) {
        Json task{{"taskid", box->taskid},
                  {"state", name_of(manager.task_state(id))},
                  {"command", box->spec.command()},
                  {"category", box->spec.category()},
                  {"priority", box->spec.priority()}};
        if (!box->spec.tag().empty()) task["tag"] = box->spec.tag();
        sorted.emplace(box->taskid, std::move(task));
    }
    Json all = Json::array();
    for (auto& [id, task] : sorted) all.push_back(std::move(task));
    return all;
}

// Has the columns of `work_queue_status -A`.
Json of_categories(const Manager& manager) {
    Json all = Json::array();
    for (const CategorySummary& one : manager.categories()) {
        Json category = tasks_and_workers(manager.stats_category(one.name));
        category["category"] = one.name;
        category["fit_workers"] = one.fit_workers;
        category["max_cores"] = one.max_cores;
        category["max_memory"] = one.max_memory;
        category["max_disk"] = one.max_disk;
        all.push_back(std::move(category));
    }
    return all;
}

}  // namespace

}  // namespace wq::capi

using namespace wq::capi;

char* work_queue_status(work_queue* q, const char* request) {
    return guarded(__func__, static_cast<char*>(nullptr), [&](const char* me) -> char* {
        const wq::Manager* manager = manager_of(me, q);
        if (manager == nullptr) return nullptr;
        const std::string wanted = request == nullptr ? "queue" : request;
        Json answer = Json::array();
        if (wanted == "queue") answer = of_queue(*q, *manager);
        if (wanted == "tasks") answer = of_tasks(*q, *manager);
        if (wanted == "categories") answer = of_categories(*manager);
        if (wanted == "workers") no_effect(me, "single workers are not listed");
        // Commands may not be UTF-8, but JSON must be.
        return ::strdup(answer.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    });
}
