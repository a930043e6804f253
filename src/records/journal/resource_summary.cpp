#include "records/journal/resource_summary.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "records/journal/append_file.h"
#include "records/journal/quantities.h"
#include "records/journal/records.h"

namespace wq::records::journal {

namespace {

using Json = nlohmann::ordered_json;

Json as_json(const Quantity& quantity) {
    if (quantity.parts == 1) return Json::array({quantity.amount, quantity.unit});
    return Json::array(
        {static_cast<double>(quantity.amount) / static_cast<double>(quantity.parts), quantity.unit});
}

void add(Json& object, const Quantities& quantities) {
    for (const Quantity& quantity : quantities) object[std::string(quantity.name)] = as_json(quantity);
}

void add(Json& root, const engine::model::MonitorReport& report, WallMicros started_us) {
    if (report.machine_cpus >= 0) root["machine_cpus"] = Json::array({report.machine_cpus, "cores"});
    if (report.machine_load >= 0)
        root["machine_load"] = Json::array({static_cast<double>(report.machine_load) / 1000, "procs"});
    if (const Quantities times = times_of(report.peak_us); !times.empty()) add(root["peak_times"], times);
    for (const engine::model::UsagePoint& point : report.points) {
        if (point.label.empty()) continue;
        Json& snapshot = root["snapshots"].emplace_back();
        snapshot["snapshot_name"] = point.label;
        add(snapshot, {{"start", started_us, micros_per_second, "s"},
                       {"end", started_us + point.at_us, micros_per_second, "s"},
                       {"wall_time", point.at_us, micros_per_second, "s"}});
        add(snapshot, quantities_of(point.usage));
    }
}

// As a shell reports it.
int exit_status(const engine::model::Outcome& outcome) {
    return outcome.signal != 0 ? 128 + outcome.signal : outcome.exit_code;
}

}  // namespace

std::string resource_summary(const TaskRecord& record, const SummaryNames& names) {
    const engine::model::Outcome& outcome = record.outcome;
    const Quantities exceeded = exceeded_limits(outcome, record.given);
    Json root;
    // The monitor's readers know both names.
    const std::string number = std::to_string(task_number(record.task));
    root["taskid"] = number;
    root["task_id"] = number;
    root["category"] = names.category;
    root["command"] = names.command;
    if (!names.host.empty()) root["host"] = names.host;
    root["exit_status"] = exit_status(outcome);
    root["exit_type"] = !exceeded.empty() ? "limits" : outcome.signal != 0 ? "signal" : "normal";
    if (outcome.signal != 0) root["signal"] = outcome.signal;
    if (!exceeded.empty()) add(root["limits_exceeded"], exceeded);
    add(root, quantities_of(outcome));
    if (record.monitor) add(root, *record.monitor, record.outcome.started_us);
    return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string resource_series(const TaskRecord& record) {
    constexpr std::string_view columns =
        "# wall_clock wall_time cpu_time cores memory virtual_memory swap_memory disk total_files bytes_read "
        "bytes_written bytes_received bytes_sent max_concurrent_processes total_processes\n"
        "# us us us 1/1000 MB MB MB MB files bytes bytes bytes bytes procs procs\n";
    std::string text(columns);
    if (!record.monitor) return {};
    for (const engine::model::UsagePoint& point : record.monitor->points) {
        if (!point.label.empty()) continue;
        const engine::model::Usage& used = point.usage;
        for (const std::int64_t value :
             {record.outcome.started_us + point.at_us, point.at_us, used.cpu_time, used.cores, used.memory,
              used.virtual_memory, used.swap_memory, used.disk, used.files, used.bytes_read,
              used.bytes_written, used.bytes_received, used.bytes_sent, used.processes_at_once,
              used.processes})
            text += std::to_string(value) + " ";
        text.back() = '\n';
    }
    return text.size() == columns.size() ? std::string() : text;
}

std::string resource_summary_path(const std::string& folder, std::int64_t manager_pid,
                                  std::uint64_t task_number, const char* kind) {
    return (folder.empty() ? std::string(".") : folder) + "/wq-" + std::to_string(manager_pid) + "-task-" +
           std::to_string(task_number) + "." + kind;
}

Status write_resource_summary(const std::string& folder, std::int64_t manager_pid, std::uint64_t task_number,
                              std::string_view text, const char* kind) {
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (error) return write_error(folder, error.value());
    return write_atomically(resource_summary_path(folder, manager_pid, task_number, kind), text, false);
}

}  // namespace wq::records::journal
