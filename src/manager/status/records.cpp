#include "manager/status/records.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "base/time.h"
#include "net/contact/manager_record.h"
#include "records/journal/run_status.h"

namespace wq::manager::status {

namespace {

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

void add_amounts(Json& all, const std::string& name, const Amounts& amounts) {
    all[name + "_total"] = amount(amounts.total);
    all[name + "_inuse"] = amount(amounts.used);
    all[name + "_smallest"] = amount(amounts.smallest);
    all[name + "_largest"] = amount(amounts.largest);
}

void add_sums(Json& all, const ResourceSums& sums) {
    add_amounts(all, "workers", sums.workers);
    add_amounts(all, "cores", sums.cores);
    add_amounts(all, "memory", sums.memory);
    add_amounts(all, "disk", sums.disk);
    add_amounts(all, "gpus", sums.gpus);
}

// Commands may not be UTF-8, but JSON must be.
std::string text_of(const Json& all) {
    return all.dump();
}

// A record of a task, made without a tree of values: a listing may have 100,000 of them.
class TaskText {
  public:
    void add(const char* key, const std::string& text) {
        begin(key);
        const bool is_plain =
            std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
        if (is_plain)
            text_.append("\"").append(text).append("\"");
        else
            text_ += text_of(Json(text));
    }
    void add(const char* key, std::int64_t number) {
        begin(key);
        text_ += std::to_string(number);
    }
    void add(const char* key, double number) {
        begin(key);
        text_ += amount(number).dump();
    }
    std::string end() { return text_ + "}"; }

  private:
    void begin(const char* key) { text_.append(text_.empty() ? "{\"" : ",\"").append(key).append("\":"); }
    std::string text_;
};

void add_resources(TaskText& task, const TaskResources& needs) {
    task.add("cores", needs.cores);
    task.add("memory", needs.memory);
    task.add("disk", needs.disk);
    task.add("gpus", needs.gpus);
}

void add_place(TaskText& task, const PlaceOfTask& place) {
    task.add("host", place.host);
    task.add("address_port", place.address);
    add_resources(task, {place.task.cores, place.task.memory, place.task.disk, place.task.gpus});
    task.add("time_when_submitted", place.task.submitted);
    task.add("time_when_commit_start", place.task.dispatched);
    task.add("current_time", wall_now());
}

// "current_task_007_id" and "current_task_007_command"
void add_current(Json& worker, const std::vector<DispatchedTask>& dispatched, const NameTask& name_task) {
    std::size_t count = 0;
    for (const DispatchedTask& one : dispatched) {
        const auto named = name_task(one.id);
        if (!named) continue;  // it has been cancelled, and is about to end
        const std::string number = std::to_string(count++);
        const std::string key =
            "current_task_" + std::string(3 - std::min<std::size_t>(3, number.size()), '0') + number;
        worker[key + "_id"] = named->id;
        worker[key + "_command"] = named->command;
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

Json category_as_json(const CategoryOfStatus& one) {
    const CategorySummary& summary = one.summary;
    Json category = category_as_json(summary.name, one.stats, summary.fit_workers);
    category["max_cores"] = summary.max_cores;
    category["max_memory"] = summary.max_memory;
    category["max_disk"] = summary.max_disk;
    add_largest(category, "cores", summary.max_cores);
    add_largest(category, "memory", summary.max_memory);
    add_largest(category, "disk", summary.max_disk);
    return category;
}

bool is_loopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

// Without loopback addresses, which are other managers elsewhere, unless there are no others. CCTools before
// 7.10 reads the address from "host".
Json interfaces_of(const std::vector<std::string>& addresses) {
    constexpr std::size_t most_interfaces = 16;
    Json all = Json::array();
    for (const std::string& address : addresses) {
        if (all.size() == most_interfaces || (all.size() > 0 && is_loopback(address))) break;
        const char* const family = address.find(':') == std::string::npos ? "AF_INET" : "AF_INET6";
        all.push_back({{"address", address}, {"host", address}, {"family", family}});
    }
    return all;
}

void add_requests(Json& all, const RequestSums& sums) {
    all["tasks_total_cores"] = amount(sums.cores);
    all["tasks_total_memory"] = amount(sums.memory);
    all["tasks_total_disk"] = amount(sums.disk);
    all["tasks_total_gpus"] = amount(sums.gpus);
}

Json categories_of(const QueueParts& parts) {
    Json all = Json::array();
    for (const CategoryOfStatus& one : parts.categories) all.push_back(category_as_json(one));
    all.push_back(category_as_json("whole queue", parts.stats, parts.stats.workers_able));
    return all;
}

}  // namespace

std::optional<net::messages::StatusOf> status_of(std::string_view request) {
    for (const std::string_view word : {"queue", "queue_status", "manager", "resources_status"})
        if (request == word) return net::messages::StatusOf::queue;
    for (const std::string_view word : {"tasks", "task_status"})
        if (request == word) return net::messages::StatusOf::tasks;
    for (const std::string_view word : {"workers", "worker_status"})
        if (request == word) return net::messages::StatusOf::workers;
    for (const std::string_view word : {"categories", "wable_status", "wable_resources"})
        if (request == word) return net::messages::StatusOf::categories;
    return std::nullopt;
}

QueueOfStatus described(std::string project, int port, bool ssl, std::vector<std::string> addresses) {
    QueueOfStatus queue;
    queue.project = std::move(project);
    queue.port = port;
    queue.ssl = ssl;
    queue.owner = records::journal::user_name();
    queue.addresses = std::move(addresses);
    return queue;
}

void ResourceSums::add(const WorkerSummary& worker) {
    const auto add_to = [this](Amounts& amounts, auto of_worker, auto of_tasks) {
        const auto whole = static_cast<double>(of_worker);
        amounts.total += whole;
        amounts.used += static_cast<double>(of_tasks);
        amounts.smallest = count == 0 ? whole : std::min(amounts.smallest, whole);
        amounts.largest = std::max(amounts.largest, whole);
    };
    add_to(workers, 1, worker.tasks > 0 ? 1 : 0);
    add_to(cores, worker.cores, worker.cores_used);
    add_to(memory, worker.memory, worker.memory_used);
    add_to(disk, worker.disk, worker.disk_used);
    add_to(gpus, worker.gpus, worker.gpus_used);
    ++count;
}

std::string queue_as_json(const QueueParts& parts) {
    const Statistics& stats = parts.stats;
    const QueueOfStatus& queue = parts.queue;
    Json all{{"type", "wq_master"}};
    if (!queue.project.empty()) all["project"] = queue.project;
    all["name"] = records::journal::host_name();
    all["starttime"] = stats.time_when_started / 1'000'000;
    std::error_code unknown;
    all["working_dir"] = std::filesystem::current_path(unknown).string();
    all["version"] = WQ_VERSION;
    all[net::contact::wire_member] = net::contact::wire_of_record();
    if (!queue.owner.empty()) all["owner"] = queue.owner;
    all["port"] = queue.port;
    all["priority"] = queue.priority;
    all["ssl"] = queue.ssl;
    all["manager_preferred_connection"] = queue.preferred_connection;
    all["network_interfaces"] = interfaces_of(queue.addresses);
    add_workers(all, stats);
    all["workers_blocked"] = parts.blocked_hosts;
    all.update(of_tasks(stats));
    all["tasks_complete"] = stats.tasks_done;
    all["tasks_left"] = queue.tasks_left;
    if (parts.requests) add_requests(all, *parts.requests);
    all["tasks_exhausted_attempts"] = stats.tasks_exhausted_attempts;
    add_times(all, stats);
    add_capacities(all, stats);
    add_sums(all, parts.resources);
    all["categories"] = categories_of(parts);
    return text_of(all);
}

std::string task_as_json(const TaskOfStatus& one) {
    TaskText task;
    task.add("taskid", one.id);
    task.add("state", name_of(one.state));
    task.add("command", one.command);
    task.add("category", one.category);
    task.add("priority", one.priority);
    if (!one.tag.empty()) task.add("tag", one.tag);
    if (!one.coprocess.empty()) task.add("coprocess", one.coprocess);
    if (one.place)
        add_place(task, *one.place);
    else
        add_resources(task, one.requested);
    return task.end();
}

std::string worker_as_json(const WorkerSummary& one, const NameTask& name_task) {
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
                {"current_time", wall_now()}};
    ResourceSums sums;
    sums.add(one);
    add_sums(worker, sums);
    add_current(worker, one.dispatched, name_task);
    return text_of(worker);
}

std::string categories_as_json(const QueueParts& parts) {
    const std::string array = text_of(categories_of(parts));
    return array.substr(1, array.size() - 2);
}

}  // namespace wq::manager::status
