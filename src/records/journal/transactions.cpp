#include "records/journal/transactions.h"

#include <algorithm>

#include "engine/model/manager_stats.h"
#include "records/journal/append_file.h"
#include "records/journal/records.h"
#include "records/journal/resource_summary.h"

namespace wq::records::journal {

namespace {

void put_quantity(std::string& out, std::string_view name, Count value, std::string_view unit) {
    if (value < 0) return;  // not specified
    out += out.back() == '{' ? "\"" : ",\"";
    out.append(name).append("\":[");
    if (value.is_whole())
        put_number(out, value.rounded_down());
    else
        out += format_count_with_fraction(value);
    out.append(",\"").append(unit).append("\"]");
}

void put_time(std::string& out, std::string_view name, std::int64_t micros) {
    out += out.back() == '{' ? "\"" : ",\"";
    out.append(name).append("\":[");
    put_seconds(out, micros, 6);
    out += ",\"s\"]";
}

void put_resources(std::string& out, const engine::model::Resources& resources) {
    out += '{';
    put_quantity(out, "cores", resources.cores, "cores");
    put_quantity(out, "memory", resources.memory_mb, "MB");
    put_quantity(out, "disk", resources.disk_mb, "MB");
    if (resources.gpus > 0) put_quantity(out, "gpus", resources.gpus, "gpus");
    out += '}';
}

// Unmeasured values are replaced by the allocation: otherwise the log would lack them.
void put_measured(std::string& out, const TaskRecord& record) {
    const engine::model::Outcome& outcome = record.outcome;
    Quantities all = quantities_of(outcome);
    std::erase_if(all, [&](const Quantity& one) {
        return one.name == "start" || one.name == "end" || (one.name == "cores_avg" && !outcome.measured);
    });
    const auto cores =
        std::find_if(all.begin(), all.end(), [](const Quantity& one) { return one.name == "cores"; });
    if (cores == all.end())
        all.insert(all.begin(), {"cores", record.given.cores.thousandths(), 1000, "cores"});
    const auto megabytes = [](std::int64_t bytes) { return bytes * micros_per_second >> 20; };
    all.push_back({"wq_input_size", megabytes(record.files.bytes_sent), micros_per_second, "MB"});
    all.push_back({"wq_output_size", megabytes(record.files.bytes_received), micros_per_second, "MB"});
    all.push_back({"wq_input_time", record.files.send_us, micros_per_second, "s"});
    all.push_back({"wq_output_time", record.files.receive_us, micros_per_second, "s"});
    put_quantities(out, all);
    if (outcome.signal == 0) return;
    out.pop_back();
    put_quantity(out, "signal", outcome.signal, "");
    out += '}';
}

// The result's name in the manual, where a task that ran to its end is SUCCESS, whatever its exit code.
std::string_view result_of(const engine::model::Outcome& outcome) {
    switch (outcome.ending) {
        case engine::model::Ending::not_started:  // SUCCESS if its command was tried: it has run, with 126 or
                                                  // 127
            return outcome.started_us != 0 ? "SUCCESS" : "UNKNOWN";
        case engine::model::Ending::exited:
            return "SUCCESS";
        case engine::model::Ending::signalled:
            return "SIGNAL";
        case engine::model::Ending::timed_out:
            return "MAX_WALLTIME";
        case engine::model::Ending::out_of_memory:
        case engine::model::Ending::exhausted:
            return "RESOURCE_EXHAUSTION";
        case engine::model::Ending::killed:
            return "FORSAKEN";
        case engine::model::Ending::too_slow:
            return "FAST_ABORT";
        case engine::model::Ending::worker_lost:
            return "MAX_RETRIES";
        case engine::model::Ending::never_ran:
            return "FORSAKEN";
        case engine::model::Ending::raised:
            return "SUCCESS";
        case engine::model::Ending::expired:
            return "END_TIME";
        case engine::model::Ending::input_missing:
            return "INPUT_MISS";
        case engine::model::Ending::output_missing:
            return "OUTPUT_MISS";
        case engine::model::Ending::disk_full:
            return "DISK_FULL";
        case engine::model::Ending::not_transferred:
            return "OUTPUT_TRANSFER_ERROR";
    }
    return "UNKNOWN";
}

std::string_view disconnection_reason(Departure departure) {
    switch (departure) {
        case Departure::unknown:
            return "UNKNOWN";
        case Departure::idle_out:
            return "IDLE_OUT";
        case Departure::failure:
            return "FAILURE";
        case Departure::asked:
            return "EXPLICIT";
    }
    return "UNKNOWN";
}

void put_numbers(std::string& out, Interval tasks) {
    put_number(out, task_number(TaskId(tasks.first)));
    if (tasks.size() <= 1) return;
    out += '-';
    put_number(out, tasks.end);
}

void begin_task(std::string& out, const TaskRecord& record, TransactionStamp& stamp, std::string_view state) {
    stamp.append_to(out, record.received_us);
    out += "TASK ";
    put_number(out, task_number(record.task));
    out.append(" ").append(state).append(" ");
}

void put_end(std::string& out, TransactionStamp& stamp, const TaskRecord& record, std::string_view state,
             std::string_view how) {
    begin_task(out, record, stamp, state);
    out.append(how).append("\n");
}

std::string how_it_ended(const TaskRecord& record) {
    std::string how(record.out_of_tries ? "MAX_RETRIES" : result_of(record.outcome));
    how += ' ';
    put_number(how, std::int64_t{engine::model::return_status(record.outcome)});
    how += ' ';
    put_quantities(how, exceeded_limits(record.outcome, record.given));
    how += ' ';
    put_measured(how, record);
    return how;
}

}  // namespace

std::string_view transactions_heading() {
    return "# time manager_pid MANAGER START|END\n"
           "# time manager_pid WORKER worker_id host:port CONNECTION\n"
           "# time manager_pid WORKER worker_id host:port DISCONNECTION "
           "(UNKNOWN|IDLE_OUT|FAST_ABORT|FAILURE|STATUS_WORKER|EXPLICIT)\n"
           "# time manager_pid WORKER worker_id RESOURCES {resources}\n"
           "# time manager_pid CATEGORY name MAX {resources_max_per_task}\n"
           "# time manager_pid CATEGORY name MIN {resources_min_per_task_per_worker}\n"
           "# time manager_pid CATEGORY name FIRST (FIXED|MAX|MIN_WASTE|MAX_THROUGHPUT) "
           "{resources_requested}\n"
           "# time manager_pid TASK taskid WAITING category_name (FIRST_RESOURCES|MAX_RESOURCES) "
           "{resources_requested}\n"
           "# time manager_pid TASK taskid RUNNING worker_address (FIRST_RESOURCES|MAX_RESOURCES) "
           "{resources_allocated}\n"
           "# time manager_pid TASK taskid WAITING_RETRIEVAL worker_address\n"
           "# time manager_pid TASK taskid (RETRIEVED|DONE) "
           "(SUCCESS|SIGNAL|END_TIME|FORSAKEN|MAX_RETRIES|MAX_WALLTIME|UNKNOWN|RESOURCE_EXHAUSTION) "
           "exit_code "
           "{limits_exceeded} {resources_measured}\n"
           "# time manager_pid TRANSFER (INPUT|OUTPUT) taskid cache_flag sizeinmb walltime filename\n"
           "\n";
}

std::string task_waiting_text(Interval tasks, std::string_view category,
                              const engine::model::Resources& requested, engine::model::Try tried) {
    std::string out = "TASK ";
    put_numbers(out, tasks);
    out += " WAITING ";
    put_word(out, category, '_');
    out += tried == engine::model::Try::at_maximum ? " MAX_RESOURCES " : " FIRST_RESOURCES ";
    put_resources(out, requested);
    return out;
}

std::string task_running_text(TaskId task, std::string_view worker_address,
                              const engine::model::Resources& allocated, engine::model::Try tried) {
    std::string out = "TASK ";
    put_number(out, task_number(task));
    out += " RUNNING ";
    put_word(out, worker_address, '_');
    out += tried == engine::model::Try::at_maximum ? " MAX_RESOURCES " : " FIRST_RESOURCES ";
    put_resources(out, allocated);
    return out;
}

// Sizes are MB of 2^20 bytes.
std::string transfer_text(const TransferRecord& transfer) {
    std::string out = transfer.input ? "TRANSFER INPUT " : "TRANSFER OUTPUT ";
    put_number(out, task_number(transfer.task));
    out += transfer.cached ? " 1 " : " 0 ";
    put_seconds(out, static_cast<std::int64_t>(transfer.bytes * 1'000'000 >> 20), 6);
    out += ' ';
    put_seconds(out, transfer.wall_us, 6);
    out += ' ';
    put_word(out, transfer.name, '_');
    return out;
}

void TransactionStamp::append_to(std::string& out, WallMicros when) {
    constexpr WallMicros apart = 1'000'000;
    if (when < last_ && last_ - when < apart) when = last_;
    last_ = std::max(last_, when);
    put_number(out, when);
    out += ' ';
    put_number(out, pid_);
    out += ' ';
}

void put_manager_line(std::string& out, WallMicros when, TransactionStamp& stamp, ManagerLine line) {
    stamp.append_to(out, when);
    out += line == ManagerLine::start ? "MANAGER START\n" : "MANAGER END\n";
}

void put_category_lines(std::string& out, WallMicros when, TransactionStamp& stamp,
                        const CategoryRecord& record) {
    const auto put = [&](std::string_view what, const engine::model::Sizes& sizes) {
        stamp.append_to(out, when);
        out += "CATEGORY ";
        put_word(out, record.name, '_');
        out.append(" ").append(what).append(" ");
        put_quantities(out, quantities_of(sizes));
        out += '\n';
    };
    put("MAX", record.max);
    put("MIN", record.min);
    std::string first = "FIRST ";
    for (const char letter : engine::model::name_of(record.mode))
        first += letter == '-' ? '_' : static_cast<char>(letter - 'a' + 'A');
    put(first, record.first);
}

void put_worker_lines(std::string& out, TransactionStamp& stamp, const WorkerRecord& record) {
    const bool left = record.left_us != 0;
    stamp.append_to(out, left ? record.left_us : record.joined_us);
    out += "WORKER worker-";
    put_number(out, std::uint64_t{record.worker.value()});
    out += ' ';
    put_word(out, record.address, '_');
    if (left) {
        out.append(" DISCONNECTION ").append(disconnection_reason(record.departure)).append("\n");
        return;
    }
    out += " CONNECTION\n";
    stamp.append_to(out, record.joined_us);
    out += "WORKER worker-";
    put_number(out, std::uint64_t{record.worker.value()});
    out += " RESOURCES ";
    put_resources(out, record.offers);
    out += '\n';
}

void put_task_lines(std::string& out, TransactionStamp& stamp, const TaskRecord& record,
                    std::string_view worker_address) {
    const bool came_back = record.outcome.ending != engine::model::Ending::worker_lost &&
                           record.outcome.ending != engine::model::Ending::never_ran;
    if (came_back) {
        begin_task(out, record, stamp, "WAITING_RETRIEVAL");
        put_word(out, worker_address.empty() ? "-" : worker_address, '_');
        out += '\n';
    }
    if (!came_back && !record.final) return;
    const std::string how = how_it_ended(record);
    put_end(out, stamp, record, "RETRIEVED", how);
    if (record.final) put_end(out, stamp, record, "DONE", how);
}

void put_range_lines(std::string& out, TransactionStamp& stamp, const RangeRecord& record,
                     std::string_view worker_address) {
    stamp.append_to(out, record.received_us);
    out += "TASK ";
    put_numbers(out, {record.tasks.front()->first, record.tasks.back()->end});
    out += " DONE SUCCESS 0 {} {";
    put_quantity(out, "cores", record.given.cores, "cores");
    put_quantity(out, "tasks", static_cast<std::int64_t>(record.tasks.count()), "tasks");
    put_time(out, "wall_time", record.wall_us);
    std::int64_t cpu_us = record.user_us;
    engine::model::add_bounded(cpu_us, record.system_us);
    put_time(out, "cpu_time", cpu_us);
    put_quantity(out, "memory", (record.peak_memory_kb + 1023) / 1024, "MB");
    out += "} ";
    put_word(out, worker_address.empty() ? "-" : worker_address, '_');
    out += '\n';
}

void put_cancelled_line(std::string& out, WallMicros when, TransactionStamp& stamp, Interval tasks) {
    stamp.append_to(out, when);
    out += "TASK ";
    put_numbers(out, tasks);
    out += " CANCELED\n";
}

}  // namespace wq::records::journal
