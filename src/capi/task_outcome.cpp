// What became of a task, as fields of the struct.
#include <algorithm>

#include "capi/task_box.h"

namespace wq::capi {

namespace {

constexpr double us_of_second = 1e6;
constexpr double bytes_of_mb = 1 << 20;

timestamp_t at_least_0(std::int64_t us) {
    return static_cast<timestamp_t>(std::max<std::int64_t>(us, 0));
}

std::optional<std::string_view> or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

void show_times(TaskBox& box, const Task& ended) {
    box.time_when_submitted = at_least_0(ended.submit_time());
    box.time_when_done = at_least_0(ended.finish_time());
    box.time_when_commit_start = at_least_0(ended.commit_time());
    box.time_when_commit_end = at_least_0(ended.execute_cmd_start());
    box.time_when_retrieval = at_least_0(ended.execute_cmd_finish());
    box.time_workers_execute_last = at_least_0(ended.cmd_execution_time());
    box.time_workers_execute_all = box.time_workers_execute_last;
    if (ended.result() == TaskResult::resource_exhaustion)
        box.time_workers_execute_exhaustion = box.time_workers_execute_last;
    // Worker and manager need not agree on the time of day.
    if (ended.commit_time() > 0)
        box.total_transfer_time =
            at_least_0(ended.finish_time() - ended.commit_time() - ended.cmd_execution_time());
    if (ended.return_time() > 0) box.time_app_delay = at_least_0(ended.return_time() - ended.finish_time());
}

void show_other_names(TaskBox& box) {
    box.time_task_submit = box.time_when_submitted;
    box.time_task_finish = box.time_when_done;
    box.time_committed = box.time_when_commit_start;
    box.time_send_input_start = box.time_when_commit_start;
    box.time_send_input_finish = box.time_when_commit_end;
    box.time_receive_result_start = box.time_when_retrieval;
    box.time_receive_result_finish = box.time_when_done;
    box.time_receive_output_start = box.time_when_retrieval;
    box.time_receive_output_finish = box.time_when_done;
    box.time_execute_cmd_start = box.time_when_commit_end;
    box.time_execute_cmd_finish = box.time_when_retrieval;
    box.cmd_execution_time = box.time_workers_execute_last;
    box.total_cmd_execution_time = box.time_workers_execute_all;
    box.total_cmd_exhausted_execute_time = box.time_workers_execute_exhaustion;
    box.total_time_until_worker_failure = box.time_workers_execute_failure;
    box.total_bytes_received = box.bytes_received;
    box.total_bytes_sent = box.bytes_sent;
    box.total_bytes_transferred = box.bytes_transferred;
    box.total_submissions = box.try_count;
}

void show_resources(TaskBox& box, const Task& ended) {
    const TaskResources given = ended.resources_allocated();
    rmsummary& allocated = box.allocated();
    allocated.cores = static_cast<double>(given.cores);
    allocated.memory = static_cast<double>(given.memory);
    allocated.disk = static_cast<double>(given.disk);
    allocated.gpus = static_cast<double>(given.gpus);
    if (ended.execute_cmd_start() == 0) return;
    const TaskUsage& used = ended.resources_measured();
    rmsummary& measured = box.measured();
    measured.start = static_cast<double>(ended.execute_cmd_start()) / us_of_second;
    measured.end = static_cast<double>(ended.execute_cmd_finish()) / us_of_second;
    measured.wall_time = static_cast<double>(used.wall_time) / us_of_second;
    measured.cpu_time = static_cast<double>(used.user_time + used.system_time) / us_of_second;
    measured.cores_avg = used.wall_time > 0 ? measured.cpu_time / measured.wall_time : 0;
    measured.memory = static_cast<double>(used.memory);
    measured.bytes_read = static_cast<double>(used.bytes_read) / bytes_of_mb;
    measured.bytes_written = static_cast<double>(used.bytes_written) / bytes_of_mb;
    measured.exit_status = ended.exit_status();
    if (ended.result() == TaskResult::signal) measured.signal = ended.return_status();
}

}  // namespace

void clear_outcome(TaskBox& box) {
    box.taskid = 0;
    box.return_status = box.exit_status = -1;
    box.result = WORK_QUEUE_RESULT_UNKNOWN;
    for (char* work_queue_task::*field : {&work_queue_task::output, &work_queue_task::reason,
                                          &work_queue_task::host, &work_queue_task::hostname})
        box.set_text(field, std::nullopt);
    box.try_count = box.exhausted_attempts = box.fast_abort_count = 0;
    box.time_when_submitted = box.time_when_done = 0;
    box.time_when_commit_start = box.time_when_commit_end = box.time_when_retrieval = 0;
    box.time_workers_execute_last = box.time_workers_execute_all = 0;
    box.time_workers_execute_exhaustion = box.time_workers_execute_failure = 0;
    box.total_transfer_time = box.time_app_delay = 0;
    box.bytes_received = box.bytes_sent = box.bytes_transferred = 0;
    box.clear_resources();
    box.limits_exceeded = nullptr;
    show_other_names(box);
}

void show_outcome(TaskBox& box, const Task& ended) {
    const int id = box.taskid;
    clear_outcome(box);
    box.taskid = id;
    box.return_status = box.exit_status = ended.return_status();
    box.result = static_cast<work_queue_result_t>(ended.result());
    box.bytes_received = static_cast<std::int64_t>(ended.output().size() + ended.error_output().size());
    box.bytes_transferred = box.bytes_received;
    box.set_text(&work_queue_task::output, ended.output() + ended.error_output());
    box.set_text(&work_queue_task::reason, ended.reason());
    box.set_text(&work_queue_task::host, or_null(ended.host()));
    box.set_text(&work_queue_task::hostname, or_null(ended.hostname()));
    box.try_count = static_cast<int>(ended.attempts());
    if (ended.result() == TaskResult::resource_exhaustion) box.exhausted_attempts = 1;
    show_times(box, ended);
    show_resources(box, ended);
    show_other_names(box);
}

void show_forsaken(TaskBox& box, const std::string& reason) {
    const int id = box.taskid;
    clear_outcome(box);
    box.taskid = id;
    box.result = WORK_QUEUE_RESULT_FORSAKEN;
    box.set_text(&work_queue_task::output, "");
    box.set_text(&work_queue_task::reason, reason);
}

}  // namespace wq::capi
