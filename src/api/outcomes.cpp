#include "api/outcomes.h"

namespace wq::api {

namespace {

TaskResult result_of(core::Ending ending) {
    switch (ending) {
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
            return TaskResult::unknown;
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

// What a shell would say, or the signal; -1: it never ran.
int return_status_of(const core::Outcome& outcome) {
    switch (outcome.ending) {
        case core::Ending::exited:
        case core::Ending::not_started:
        case core::Ending::input_missing:  // -1, or 1 where the worker was to make it
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
            return outcome.signal != 0 ? outcome.signal : 9;
        case core::Ending::expired:
            return outcome.started_us != 0 ? 9 : -1;
        case core::Ending::worker_lost:
        case core::Ending::never_ran:
        case core::Ending::disk_full:
            return -1;
    }
    return -1;
}

}  // namespace

void describe_end(const core::Outcome& outcome, TaskReport& report) {
    report.result = result_of(outcome.ending);
    report.return_status = return_status_of(outcome);
    const bool has_code = outcome.ending == core::Ending::exited ||
                          outcome.ending == core::Ending::not_started ||
                          outcome.ending == core::Ending::raised;
    report.exit_status = has_code ? report.return_status : 0;
    report.reason = outcome.reason;
    if (report.reason.empty() && !outcome.succeeded()) report.reason = core::describe(outcome);
    report.execute_start = outcome.started_us;
    report.usage = {outcome.wall_us,    outcome.user_us,
                    outcome.system_us,  (outcome.peak_memory_kb + 1023) / 1024,
                    outcome.bytes_read, outcome.bytes_written};
}

}  // namespace wq::api
