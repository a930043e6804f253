#include "api/outcomes.h"

namespace wq::api {

namespace {

// As in a shell, a command that cannot be found or executed has run. A command without a process, or a
// function that its worker lacks, has not.
bool has_run(const engine::model::Outcome& outcome, TaskKind kind) {
    return kind == TaskKind::command && outcome.started_us != 0;
}

TaskResult result_of(const engine::model::Outcome& outcome, TaskKind kind) {
    switch (outcome.ending) {
        case engine::model::Ending::exited:
        case engine::model::Ending::raised:
            return TaskResult::success;
        case engine::model::Ending::signalled:
            return TaskResult::signal;
        case engine::model::Ending::timed_out:
            return TaskResult::max_running_time;
        case engine::model::Ending::out_of_memory:
        case engine::model::Ending::exhausted:
            return TaskResult::resource_exhaustion;
        case engine::model::Ending::not_started:
            return has_run(outcome, kind) ? TaskResult::success : TaskResult::unknown;
        case engine::model::Ending::killed:
        case engine::model::Ending::never_ran:
            return TaskResult::forsaken;
        case engine::model::Ending::worker_lost:
        case engine::model::Ending::too_slow:
            return TaskResult::max_retries;
        case engine::model::Ending::expired:
            return TaskResult::task_timeout;
        case engine::model::Ending::input_missing:
            return TaskResult::input_missing;
        case engine::model::Ending::output_missing:
            return TaskResult::output_missing;
        case engine::model::Ending::disk_full:
            return TaskResult::disk_full;
        case engine::model::Ending::not_transferred:
            return TaskResult::output_transfer_error;
    }
    return TaskResult::unknown;
}

double as_count(std::int64_t thousandths) {
    return thousandths < 0 ? -1 : static_cast<double>(thousandths) / 1000;
}

}  // namespace

TaskUsage usage_of(const engine::model::Usage& from) {
    TaskUsage to;
    to.cores = as_count(from.cores);
    to.memory = from.memory;
    to.bytes_read = from.bytes_read;
    to.bytes_written = from.bytes_written;
    to.cpu_time = from.cpu_time;
    to.virtual_memory = from.virtual_memory;
    to.swap_memory = from.swap_memory;
    to.disk = from.disk;
    to.total_files = from.files;
    to.bytes_received = from.bytes_received;
    to.bytes_sent = from.bytes_sent;
    to.bandwidth = from.bandwidth;
    to.max_concurrent_processes = from.processes_at_once;
    to.total_processes = from.processes;
    to.context_switches = from.context_switches;
    return to;
}

void describe_end(const engine::model::Outcome& outcome, TaskKind kind, TaskReport& report) {
    report.result = result_of(outcome, kind);
    report.return_status = engine::model::return_status(outcome, kind == TaskKind::call);
    const bool has_code = outcome.ending == engine::model::Ending::exited ||
                          outcome.ending == engine::model::Ending::not_started ||
                          outcome.ending == engine::model::Ending::raised;
    report.exit_status = has_code ? report.return_status : 0;
    report.reason = outcome.reason;
    if (report.reason.empty() && !outcome.succeeded()) report.reason = engine::model::describe(outcome);
    report.execute_start = outcome.started_us;
    TaskUsage usage = usage_of(outcome.measured ? outcome.measured->usage : engine::model::Usage{});
    const auto unless_known = [](std::int64_t& known, std::int64_t of_process) {
        if (known < 0) known = of_process;
    };
    usage.wall_time = outcome.wall_us;
    usage.user_time = outcome.user_us;
    usage.system_time = outcome.system_us;
    unless_known(usage.memory, (outcome.peak_memory_kb + 1023) / 1024);
    unless_known(usage.bytes_read, outcome.bytes_read);
    unless_known(usage.bytes_written, outcome.bytes_written);
    if (report.monitor) {
        usage.machine_cpus = report.monitor->machine_cpus;
        usage.machine_load = as_count(report.monitor->machine_load);
    }
    if (outcome.measured) {
        usage.cores = as_count(engine::model::busy_cores(outcome));
        const engine::model::Sizes& exceeded = outcome.measured->exceeded;
        report.exceeded = {as_count(exceeded.cores), exceeded.memory_mb, exceeded.disk_mb,
                           as_count(exceeded.gpus)};
    }
    report.usage = usage;
}

}  // namespace wq::api
