#include "records/journal/resource_summary.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/json.h"
#include "base/time.h"
#include "records/journal/append_file.h"

namespace wq::records::journal {

namespace {

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
        Json& snapshot = root["snapshots"].push_back(nullptr);
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
    return root.dump(2) + "\n";
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
    return write_atomically(resource_summary_path(folder, manager_pid, task_number, kind), text, Sync::never);
}

namespace {

constexpr std::int64_t thousandths = 1000;

class QuantityCollector {
  public:
    explicit QuantityCollector(std::size_t most) { all_.reserve(most); }
    void add(std::string_view name, std::int64_t amount, std::string_view unit, std::int64_t parts = 1) {
        if (amount >= 0) all_.push_back({name, amount, parts, unit});
    }
    void time(std::string_view name, std::int64_t us) { add(name, us, "s", micros_per_second); }
    void megabytes(std::string_view name, std::int64_t bytes) { add(name, bytes >> 20, "MB"); }
    // But what the process itself tells, too.
    void rest_of(const engine::model::Usage& usage) {
        add("virtual_memory", usage.virtual_memory, "MB");
        add("swap_memory", usage.swap_memory, "MB");
        add("disk", usage.disk, "MB");
    }
    void network_and_counts_of(const engine::model::Usage& usage) {
        megabytes("bytes_received", usage.bytes_received);
        megabytes("bytes_sent", usage.bytes_sent);
        add("bandwidth", usage.bandwidth < 0 ? engine::model::unsaid : usage.bandwidth / 125, "Mbps",
            thousandths);
        add("total_files", usage.files, "files");
        add("max_concurrent_processes", usage.processes_at_once, "procs");
        add("total_processes", usage.processes, "procs");
        add("context_switches", usage.context_switches, "switches");
    }
    Quantities take() { return std::move(all_); }

  private:
    Quantities all_;
};

std::int64_t cores_on_average(std::int64_t cpu_us, std::int64_t wall_us) {
    // In milliseconds if the product would overflow.
    constexpr std::int64_t most = std::int64_t{1} << 50;
    if (cpu_us > most) cpu_us /= thousandths, wall_us /= thousandths;
    return cpu_us < 0 || cpu_us > most || wall_us <= 0 ? engine::model::unsaid
                                                       : cpu_us * thousandths / wall_us;
}

void put_parts(std::string& out, std::int64_t amount, std::int64_t parts) {
    if (parts == micros_per_second) return put_seconds(out, amount, 6);
    if (parts == thousandths) {
        out += format_count_with_fraction(Count::of_thousandths(amount));
        return;
    }
    put_number(out, amount);
}

}  // namespace

Quantities quantities_of(const engine::model::Outcome& outcome) {
    const engine::model::Usage usage = outcome.measured ? outcome.measured->usage : engine::model::Usage{};
    // If the process tree was not watched, or not yet at that time.
    const auto better = [](std::int64_t of_tree, std::int64_t of_process) {
        return of_tree < 0 ? of_process : of_tree;
    };
    const std::int64_t cpu_time = better(usage.cpu_time, outcome.user_us + outcome.system_us);
    QuantityCollector all(20);
    if (outcome.started_us > 0) {
        all.time("start", outcome.started_us);
        all.time("end", outcome.started_us + outcome.wall_us);
    }
    all.add("cores", engine::model::busy_cores(outcome), "cores", thousandths);
    all.add("cores_avg", cores_on_average(cpu_time, outcome.wall_us), "cores", thousandths);
    all.time("wall_time", outcome.wall_us);
    all.time("cpu_time", cpu_time);
    all.add("memory", better(usage.memory, (outcome.peak_memory_kb + 1023) / 1024), "MB");
    all.rest_of(usage);
    all.megabytes("bytes_read", better(usage.bytes_read, outcome.bytes_read));
    all.megabytes("bytes_written", better(usage.bytes_written, outcome.bytes_written));
    all.network_and_counts_of(usage);
    return all.take();
}

Quantities quantities_of(const engine::model::Usage& usage) {
    QuantityCollector all(20);
    all.add("cores", usage.cores, "cores", thousandths);
    all.time("cpu_time", usage.cpu_time);
    all.add("memory", usage.memory, "MB");
    all.rest_of(usage);
    all.megabytes("bytes_read", usage.bytes_read);
    all.megabytes("bytes_written", usage.bytes_written);
    all.network_and_counts_of(usage);
    return all.take();
}

Quantities times_of(const engine::model::Usage& peak_us) {
    QuantityCollector all(15);
    for (const auto& [name, us] : {std::pair{"cores", peak_us.cores},
                                   {"cpu_time", peak_us.cpu_time},
                                   {"memory", peak_us.memory},
                                   {"virtual_memory", peak_us.virtual_memory},
                                   {"swap_memory", peak_us.swap_memory},
                                   {"disk", peak_us.disk},
                                   {"bytes_read", peak_us.bytes_read},
                                   {"bytes_written", peak_us.bytes_written},
                                   {"bytes_received", peak_us.bytes_received},
                                   {"bytes_sent", peak_us.bytes_sent},
                                   {"bandwidth", peak_us.bandwidth},
                                   {"total_files", peak_us.files},
                                   {"max_concurrent_processes", peak_us.processes_at_once},
                                   {"total_processes", peak_us.processes},
                                   {"context_switches", peak_us.context_switches}})
        all.time(name, us);
    return all.take();
}

Quantities exceeded_limits(const engine::model::Outcome& outcome, const engine::model::Resources& given) {
    engine::model::Sizes exceeded = outcome.measured ? outcome.measured->exceeded : engine::model::Sizes{};
    if (outcome.ending == engine::model::Ending::out_of_memory && exceeded.memory_mb < 0)
        exceeded.memory_mb = given.memory_mb;
    Quantities all = quantities_of(exceeded);
    if (outcome.ending == engine::model::Ending::timed_out)
        all.push_back({"wall_time", std::max<std::int64_t>(outcome.wall_us, 0), micros_per_second, "s"});
    return all;
}

Quantities quantities_of(const engine::model::Sizes& sizes) {
    QuantityCollector all(engine::model::resource_kinds.size() + 1);
    all.add("cores", sizes.cores, "cores", thousandths);
    all.add("memory", sizes.memory_mb, "MB");
    all.add("disk", sizes.disk_mb, "MB");
    all.add("gpus", sizes.gpus, "gpus", thousandths);
    return all.take();
}

void put_quantities(std::string& out, const Quantities& quantities) {
    out += '{';
    for (const Quantity& quantity : quantities) {
        out += out.back() == '{' ? "\"" : ",\"";
        out.append(quantity.name).append("\":[");
        put_parts(out, quantity.amount, quantity.parts);
        out.append(",\"").append(quantity.unit).append("\"]");
    }
    out += '}';
}

}  // namespace wq::records::journal
