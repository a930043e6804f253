#include "program_manager/queue_status.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "program_manager/task_data.h"
#include "run/rank_loop.h"

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

Json of_tasks(const Statistics& stats) {
    return {{"tasks_waiting", stats.tasks_waiting},     {"tasks_on_workers", stats.tasks_on_workers},
            {"tasks_running", stats.tasks_running},     {"tasks_with_results", stats.tasks_with_results},
            {"tasks_submitted", stats.tasks_submitted}, {"tasks_dispatched", stats.tasks_dispatched},
            {"tasks_done", stats.tasks_done},           {"tasks_failed", stats.tasks_failed},
            {"tasks_cancelled", stats.tasks_cancelled}};
}

void add_workers(Json& all, const Statistics& stats) {
    all["workers"] = stats.workers_connected;
    all["workers_connected"] = stats.workers_connected;
    all["workers_init"] = stats.workers_init;
    all["workers_idle"] = stats.workers_idle;
    all["workers_busy"] = stats.workers_busy;
    all["workers_able"] = stats.workers_able;
    all["workers_joined"] = stats.workers_joined;
    all["workers_removed"] = stats.workers_removed;
    all["workers_released"] = stats.workers_released;
    all["workers_idled_out"] = stats.workers_idled_out;
    all["workers_fast_aborted"] = stats.workers_fast_aborted;
    all["workers_lost"] = stats.workers_lost;
}

void add_times(Json& all, const Statistics& stats) {
    all["time_when_started"] = stats.time_when_started;
    all["time_send"] = stats.time_send;
    all["time_receive"] = stats.time_receive;
    all["time_send_good"] = stats.time_send_good;
    all["time_receive_good"] = stats.time_receive_good;
    all["time_status_msgs"] = stats.time_status_msgs;
    all["time_internal"] = stats.time_internal;
    all["time_polling"] = stats.time_polling;
    all["time_application"] = stats.time_application;
    all["time_workers_execute"] = stats.time_execute;
    all["time_workers_execute_good"] = stats.time_execute_good;
    all["time_workers_execute_exhaustion"] = stats.time_execute_exhaustion;
}

void add_capacities(Json& all, const Statistics& stats) {
    all["bytes_sent"] = stats.bytes_sent;
    all["bytes_received"] = stats.bytes_received;
    all["capacity_tasks"] = stats.capacity_tasks;
    all["capacity_cores"] = stats.capacity_cores;
    all["capacity_memory"] = stats.capacity_memory;
    all["capacity_disk"] = stats.capacity_disk;
    all["capacity_instantaneous"] = stats.capacity_instantaneous;
    all["capacity_weighted"] = stats.capacity_weighted;
    all["manager_load"] = stats.manager_load;
    all["total_cores"] = stats.total_cores;
    all["total_memory"] = stats.total_memory;
    all["total_disk"] = stats.total_disk;
}

// Whole numbers as such: CCTools has no others.
Json amount(double of) {
    constexpr double most_exact = 1LL << 53;
    if (!(std::abs(of) < most_exact)) return Json(of);
    const auto whole = static_cast<std::int64_t>(of);
    return static_cast<double>(whole) == of ? Json(whole) : Json(of);
}

// Of one worker, or of several: their sums, the smallest and the largest.
class Resources {
  public:
    void add(const WorkerSummary& worker) {
        add("workers", 1, worker.tasks > 0 ? 1 : 0);
        add("cores", worker.cores, worker.cores_used);
        add("memory", static_cast<double>(worker.memory), static_cast<double>(worker.memory_used));
        add("disk", static_cast<double>(worker.disk), static_cast<double>(worker.disk_used));
        add("gpus", worker.gpus, worker.gpus_used);
    }
    void write_to(Json& all) const {
        for (const char* const name : {"workers", "cores", "memory", "disk", "gpus"}) {
            const auto found = each_.find(name);
            const Sums sums = found == each_.end() ? Sums{} : found->second;
            const std::string prefix = name;
            all[prefix + "_total"] = amount(sums.total);
            all[prefix + "_inuse"] = amount(sums.used);
            all[prefix + "_smallest"] = amount(sums.smallest);
            all[prefix + "_largest"] = amount(sums.largest);
        }
    }

  private:
    struct Sums {
        double total = 0;
        double used = 0;
        double smallest = 0;
        double largest = 0;
    };
    void add(const std::string& name, double of_worker, double used) {
        const auto [found, is_first] = each_.try_emplace(name);
        Sums& sums = found->second;
        sums.total += of_worker;
        sums.used += used;
        sums.smallest = is_first ? of_worker : std::min(sums.smallest, of_worker);
        sums.largest = std::max(sums.largest, of_worker);
    }
    std::map<std::string, Sums> each_;
};

// Commands may not be UTF-8, but JSON must be.
std::string text_of(const Json& all) {
    return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_resources(Json& task, const TaskResources& needs) {
    task["cores"] = amount(needs.cores);
    task["memory"] = needs.memory;
    task["disk"] = needs.disk;
    task["gpus"] = amount(needs.gpus);
}

struct Place {
    const WorkerSummary* worker = nullptr;
    const DispatchedTask* task = nullptr;
};
std::unordered_map<std::int64_t, Place> places_of(const std::vector<WorkerSummary>& workers) {
    std::unordered_map<std::int64_t, Place> places;
    for (const WorkerSummary& worker : workers)
        for (const DispatchedTask& task : worker.dispatched)
            places.try_emplace(task.id, Place{&worker, &task});
    return places;
}

void add_place(Json& task, const Place& place) {
    task["host"] = place.worker->host;
    task["address_port"] = place.worker->address;
    add_resources(task, {place.task->cores, place.task->memory, place.task->disk, place.task->gpus});
    task["time_when_submitted"] = place.task->submitted;
    task["time_when_commit_start"] = place.task->dispatched;
    task["current_time"] = run::now().wall;
}

// "current_task_007_id" and "current_task_007_command"
void add_current(Json& worker, const std::vector<DispatchedTask>& dispatched, const NameTask& name_of_task) {
    std::size_t count = 0;
    for (const DispatchedTask& one : dispatched) {
        const auto named = name_of_task(one.id);
        if (!named) continue;  // it has been cancelled, and is about to end
        const std::string number = std::to_string(count++);
        const std::string key =
            "current_task_" + std::string(3 - std::min<std::size_t>(3, number.size()), '0') + number;
        worker[key + "_id"] = named->id;
        worker[key + "_command"] = named->shown();
    }
}

Json category_as_json(const std::string& name, const Statistics& stats, std::int64_t able) {
    Json category = of_tasks(stats);
    category["category"] = name;
    category["workers_able"] = able;
    category["fit_workers"] = able;
    category["max_allocation"] = Json::object();
    category["max_seen"] = Json::object();
    return category;
}

// "4" was specified, "~1011" is the largest measured.
void add_largest(Json& category, const char* resource, const std::string& largest) {
    const bool seen = largest.starts_with('~');
    const std::string digits = largest.substr(seen ? 1 : 0);
    double number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size())
        category[seen ? "max_seen" : "max_allocation"][resource] = amount(number);
}

Json categories_of(const StatusParts& parts) {
    Json all = Json::array();
    for (const auto& [one, stats] : parts.categories) {
        Json category = category_as_json(one.name, stats, one.fit_workers);
        category["max_cores"] = one.max_cores;
        category["max_memory"] = one.max_memory;
        category["max_disk"] = one.max_disk;
        for (const auto& [name, largest] :
             {std::pair{"cores", one.max_cores}, {"memory", one.max_memory}, {"disk", one.max_disk}})
            add_largest(category, name, largest);
        all.push_back(std::move(category));
    }
    all.push_back(category_as_json("whole queue", parts.stats, parts.stats.workers_able));
    return all;
}

}  // namespace

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

std::string TaskOfStatus::shown() const {
    return command.empty() ? task->command() : command;
}

std::string queue_as_json(const QueueOfStatus& queue, const StatusParts& parts) {
    const Statistics& stats = parts.stats;
    Json all{{"type", "wq_master"}};
    all["project"] = queue.project;
    all["starttime"] = stats.time_when_started / 1'000'000;
    std::error_code unknown;
    all["working_dir"] = std::filesystem::current_path(unknown).string();
    all["version"] = WQ_VERSION;
    all["port"] = queue.port;
    all["priority"] = queue.priority;
    all["ssl"] = queue.ssl;
    add_workers(all, stats);
    all["workers_blocked"] = parts.blocked_hosts;
    all.update(of_tasks(stats));
    all["tasks_complete"] = stats.tasks_done;
    all["tasks_exhausted_attempts"] = stats.tasks_exhausted_attempts;
    add_times(all, stats);
    add_capacities(all, stats);
    Resources resources;
    for (const WorkerSummary& worker : parts.workers)
        if (worker.connected) resources.add(worker);
    resources.write_to(all);
    all["categories"] = categories_of(parts);
    return text_of(Json::array({all}));
}

std::string tasks_as_json(const std::vector<TaskOfStatus>& tasks, const std::vector<WorkerSummary>& workers) {
    const auto places = places_of(workers);
    Json all = Json::array();
    for (const TaskOfStatus& one : tasks) {
        Json task{{"taskid", one.id},
                  {"state", name_of(one.state)},
                  {"command", one.shown()},
                  {"category", one.task->category()},
                  {"priority", amount(one.task->priority())}};
        if (!one.task->tag().empty()) task["tag"] = one.task->tag();
        const TaskData& data = TaskAccess::data(*one.task);
        if (data.remote()) task["coprocess"] = data.specs->coprocess;
        const auto place = places.find(one.managers_id);
        if (place == places.end())
            add_resources(task, one.task->resources_requested());
        else
            add_place(task, place->second);
        all.push_back(std::move(task));
    }
    return text_of(all);
}

std::string workers_as_json(const std::vector<WorkerSummary>& workers, const NameTask& name_of_task) {
    Json all = Json::array();
    for (const WorkerSummary& one : workers) {
        Json worker{{"hostname", one.host},
                    {"os", one.os},
                    {"arch", one.arch},
                    {"address_port", one.address},
                    {"workerid", std::to_string(one.id)},
                    {"connected", one.connected},
                    {"features", one.features},
                    {"ncpus", amount(one.cores)},
                    {"total_tasks_complete", one.tasks_ended},
                    {"total_tasks_running", one.tasks},
                    {"start_time", one.joined},
                    {"current_time", run::now().wall}};
        Resources resources;
        resources.add(one);
        resources.write_to(worker);
        add_current(worker, one.dispatched, name_of_task);
        all.push_back(std::move(worker));
    }
    return text_of(all);
}

std::string categories_as_json(const StatusParts& parts) {
    return text_of(categories_of(parts));
}

}  // namespace wq::program_manager
