#include "records/journal/quantities.h"

#include <algorithm>

#include "base/time.h"
#include "records/journal/text_log.h"

namespace wq::records::journal {

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
