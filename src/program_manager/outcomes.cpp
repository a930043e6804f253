#include "program_manager/outcomes.h"

namespace wq::program_manager {

namespace {

constexpr int killed = 9;  // return_status in Work Queue's manual for a task killed for a time or a limit

// As in a shell, a command that cannot be found or executed has run. A command without a process, or a
// function that its worker lacks, has not.
bool has_run(const core::Outcome& outcome, TaskKind kind) {
    return kind == TaskKind::command && outcome.started_us != 0;
}

TaskResult result_of(const core::Outcome& outcome, TaskKind kind) {
    switch (outcome.ending) {
        case core::Ending::exited:
        case core::Ending::raised:
            return TaskResult::success;
        case core::Ending::signalled:
            return TaskResult::signal;
        case core::Ending::timed_out:
            return TaskResult::max_running_time;
        case core::Ending::out_of_memory:
        case core::Ending::exhausted:
            return TaskResult::resource_exhaustion;
        case core::Ending::not_started:
            return has_run(outcome, kind) ? TaskResult::success : TaskResult::unknown;
        case core::Ending::killed:
        case core::Ending::never_ran:
            return TaskResult::forsaken;
        case core::Ending::worker_lost:
        case core::Ending::too_slow:
            return TaskResult::max_retries;
        case core::Ending::expired:
            return TaskResult::task_timeout;
        case core::Ending::input_missing:
            return TaskResult::input_missing;
        case core::Ending::output_missing:
            return TaskResult::output_missing;
        case core::Ending::disk_full:
            return TaskResult::disk_full;
        case core::Ending::not_transferred:
            return TaskResult::output_transfer_error;
    }
    return TaskResult::unknown;
}

double as_count(std::int64_t thousandths) {
    return thousandths < 0 ? -1 : static_cast<double>(thousandths) / 1000;
}

// The exit code as in a shell, or the signal; -1: it never ran.
int return_status_of(const core::Outcome& outcome, TaskKind kind) {
    switch (outcome.ending) {
        case core::Ending::not_started:
            return kind == TaskKind::call || has_run(outcome, kind) ? outcome.exit_code : -1;
        case core::Ending::exited:
        case core::Ending::input_missing:  // -1, or 1 if the worker was to make it
        case core::Ending::output_missing:
        case core::Ending::not_transferred:
            return outcome.exit_code;
        case core::Ending::raised:
            return outcome.exit_code != 0 ? outcome.exit_code : 1;
        case core::Ending::signalled:
            return outcome.signal;
        case core::Ending::timed_out:
        case core::Ending::out_of_memory:
        case core::Ending::exhausted:
        case core::Ending::killed:
        case core::Ending::too_slow:
            return killed;
        case core::Ending::expired:
            return outcome.started_us != 0 ? killed : -1;
        case core::Ending::worker_lost:
        case core::Ending::never_ran:
        case core::Ending::disk_full:
            return -1;
    }
    return -1;
}

void put_measured(const core::Usage& from, TaskUsage& to) {
    if (from.memory >= 0) to.memory = from.memory;
    if (from.bytes_read >= 0) to.bytes_read = from.bytes_read;
    if (from.bytes_written >= 0) to.bytes_written = from.bytes_written;
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
}

}  // namespace

void describe_end(const core::Outcome& outcome, TaskKind kind, TaskReport& report) {
    report.result = result_of(outcome, kind);
    report.return_status = return_status_of(outcome, kind);
    const bool has_code = outcome.ending == core::Ending::exited ||
                          outcome.ending == core::Ending::not_started ||
                          outcome.ending == core::Ending::raised;
    report.exit_status = has_code ? report.return_status : 0;
    report.reason = outcome.reason;
    if (report.reason.empty() && !outcome.succeeded()) report.reason = core::describe(outcome);
    report.execute_start = outcome.started_us;
    TaskUsage usage;
    usage.wall_time = outcome.wall_us;
    usage.user_time = outcome.user_us;
    usage.system_time = outcome.system_us;
    usage.memory = (outcome.peak_memory_kb + 1023) / 1024;
    usage.bytes_read = outcome.bytes_read;
    usage.bytes_written = outcome.bytes_written;
    if (outcome.measured) {
        put_measured(outcome.measured->usage, usage);
        usage.cores = as_count(core::busy_cores(outcome));
        const core::Sizes& exceeded = outcome.measured->exceeded;
        report.exceeded = {as_count(exceeded.cores), exceeded.memory_mb, exceeded.disk_mb,
                           as_count(exceeded.gpus)};
    }
    report.usage = usage;
}

}  // namespace wq::program_manager
