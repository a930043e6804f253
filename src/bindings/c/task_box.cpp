#include "bindings/c/task_box.h"

#include <algorithm>
#include <utility>

#include "api/task_data.h"
#include "bindings/c/guard.h"

namespace wq::bindings::c {

namespace {

constexpr char* work_queue_task::*texts[] = {
    &work_queue_task::tag,
    &work_queue_task::command_line,
    &work_queue_task::output,
    &work_queue_task::reason,
    &work_queue_task::host,
    &work_queue_task::hostname,
    &work_queue_task::category,
    &work_queue_task::monitor_output_directory,
    &work_queue_task::monitor_snapshot_file,
    &work_queue_task::coprocess,
};

// Shared by all tasks that have not run.
rmsummary* nothing() {
    static rmsummary blank = blank_summary(-1);
    return &blank;
}

rmsummary& written(std::unique_ptr<rmsummary>& own, rmsummary*& field) {
    own = std::make_unique<rmsummary>(blank_summary(-1));
    field = own.get();
    return *own;
}

}  // namespace

TaskBox::TaskBox(Task specified)
    : work_queue_task{}, spec(std::move(specified)), requested_(blank_summary(-1)) {
    resources_requested = &requested_;
    show_spec(*this);
    clear_outcome(*this);
}

TaskBox::~TaskBox() {
    if (lent_) output = nullptr;
    for (const auto field : texts) delete[](this->*field);
}

void TaskBox::set_text(char* work_queue_task::*field, std::optional<std::string_view> text) {
    if (lent_ && field == &work_queue_task::output) {
        output = nullptr;
        lent_.reset();
    }
    // Pointers to a string stay valid while its text is unchanged.
    if (text && this->*field != nullptr && *text == this->*field) return;
    std::unique_ptr<char[]> copy;
    if (text) {
        copy = std::make_unique<char[]>(text->size() + 1);
        std::copy(text->begin(), text->end(), copy.get());
    }
    delete[] std::exchange(this->*field, copy.release());
}

void TaskBox::set_output(const Task& ended) {
    constexpr std::size_t large = 16u << 20;
    const std::string_view out = ended.output_view();
    const std::string_view err = ended.error_output_view();
    if (out.size() <= large || !err.empty())
        return set_text(&work_queue_task::output, std::string(out) += err);
    set_text(&work_queue_task::output, std::nullopt);
    lent_ = ended;
    output = const_cast<char*>(lent_->output_view().data());
}

rmsummary& TaskBox::allocated() {
    return written(allocated_, resources_allocated);
}
rmsummary& TaskBox::measured() {
    return written(measured_, resources_measured);
}
rmsummary& TaskBox::exceeded() {
    return written(exceeded_, limits_exceeded);
}
void TaskBox::clear_resources() {
    resources_allocated = resources_measured = nothing();
    limits_exceeded = nullptr;
    allocated_.reset();
    measured_.reset();
    exceeded_.reset();
}

void show_spec(TaskBox& box) {
    const Task& spec = box.spec;
    box.set_text(&work_queue_task::command_line, or_null(spec.command()));
    box.set_text(&work_queue_task::tag, or_null(spec.tag()));
    box.set_text(&work_queue_task::category, spec.category());
    box.priority = spec.priority();
    const TaskResources wanted = spec.resources_requested();
    box.resources_requested->cores = static_cast<double>(wanted.cores);
    box.resources_requested->memory = static_cast<double>(wanted.memory);
    box.resources_requested->disk = static_cast<double>(wanted.disk);
    box.resources_requested->gpus = static_cast<double>(wanted.gpus);
}

TaskBox* task_of(const char* function, const work_queue_task* task) {
    if (task == nullptr) {
        complain(function, "the task is NULL");
        return nullptr;
    }
    if (!LiveObjects<work_queue_task>::all().has(task)) {
        complain(function, "this is not a task, or it was deleted");
        return nullptr;
    }
    return const_cast<TaskBox*>(static_cast<const TaskBox*>(task));
}

TaskBox* task_to_specify(const char* function, work_queue_task* task) {
    TaskBox* box = task_of(function, task);
    if (box == nullptr || box->queue == nullptr) return box;
    complain(function, "task " + std::to_string(box->taskid) + " is in a queue: wait for it, or cancel it");
    return nullptr;
}

// Copies the results of a task to the fields of its struct.

namespace {

constexpr double us_of_second = 1e6;
constexpr double bytes_of_mb = 1 << 20;
constexpr double bytes_of_mbit = 1e6 / 8;

timestamp_t at_least_0(std::int64_t us) {
    return static_cast<timestamp_t>(std::max<std::int64_t>(us, 0));
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
    // The clocks of worker and manager may differ.
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

void show(const TaskResources& from, rmsummary& to) {
    to.cores = from.cores;
    to.memory = static_cast<double>(from.memory);
    to.disk = static_cast<double>(from.disk);
    to.gpus = from.gpus;
}

// Leaves `to` (-1) as it is if the value was not measured.
void show(std::int64_t from, double& to, double parts = 1) {
    if (from >= 0) to = static_cast<double>(from) / parts;
}

void show_measured(const TaskUsage& used, rmsummary& to) {
    to.wall_time = static_cast<double>(used.wall_time) / us_of_second;
    const std::int64_t cpu_time = used.cpu_time >= 0 ? used.cpu_time : used.user_time + used.system_time;
    to.cpu_time = static_cast<double>(cpu_time) / us_of_second;
    to.cores_avg = used.wall_time > 0 ? to.cpu_time / to.wall_time : 0;
    to.cores = used.cores;
    show(used.memory, to.memory);
    show(used.virtual_memory, to.virtual_memory);
    show(used.swap_memory, to.swap_memory);
    show(used.disk, to.disk);
    show(used.bytes_read, to.bytes_read, bytes_of_mb);
    show(used.bytes_written, to.bytes_written, bytes_of_mb);
    show(used.bytes_received, to.bytes_received, bytes_of_mb);
    show(used.bytes_sent, to.bytes_sent, bytes_of_mb);
    show(used.bandwidth, to.bandwidth, bytes_of_mbit);
    show(used.total_files, to.total_files);
    show(used.max_concurrent_processes, to.max_concurrent_processes);
    show(used.total_processes, to.total_processes);
    show(used.context_switches, to.context_switches);
    show(used.machine_cpus, to.machine_cpus);
    to.machine_load = used.machine_load;
}

void show_snapshots(TaskBox& box, const Task& ended, rmsummary& to) {
    box.snapshots.clear();
    box.snapshot_list.clear();
    box.snapshot_names.clear();
    for (const TaskSnapshot& one : ended.snapshots()) {
        rmsummary& snapshot = box.snapshots.emplace_back(blank_summary(-1));
        show_measured(one.usage, snapshot);
        snapshot.start = to.start;
        snapshot.wall_time = static_cast<double>(one.wall_time) / us_of_second;
        snapshot.end = snapshot.start + snapshot.wall_time;
        box.snapshot_names.push_back(one.name);
    }
    for (std::size_t n = 0; n < box.snapshots.size(); ++n) {
        box.snapshots[n].snapshot_name = box.snapshot_names[n].data();
        box.snapshot_list.push_back(&box.snapshots[n]);
    }
    to.snapshots = box.snapshot_list.data();
    to.snapshots_count = box.snapshot_list.size();
}

// Times, where the others are amounts.
void show_peak_times(TaskBox& box, const TaskUsage& times, rmsummary& to) {
    rmsummary& at = box.peak_times = blank_summary(-1);
    if (times.cores >= 0) at.cores = times.cores / us_of_second;
    show(times.cpu_time, at.cpu_time, us_of_second);
    show(times.memory, at.memory, us_of_second);
    show(times.virtual_memory, at.virtual_memory, us_of_second);
    show(times.swap_memory, at.swap_memory, us_of_second);
    show(times.disk, at.disk, us_of_second);
    show(times.total_files, at.total_files, us_of_second);
    show(times.bandwidth, at.bandwidth, us_of_second);
    show(times.max_concurrent_processes, at.max_concurrent_processes, us_of_second);
    if (at.memory >= 0) to.peak_times = &box.peak_times;
}

void show_resources(TaskBox& box, const Task& ended) {
    show(ended.resources_allocated(), box.allocated());
    const TaskResources exceeded = ended.limits_exceeded();
    if (std::max(exceeded.cores, exceeded.gpus) >= 0 || std::max(exceeded.memory, exceeded.disk) >= 0)
        show(exceeded, box.exceeded());
    if (ended.execute_cmd_start() == 0) return;
    rmsummary& measured = box.measured();
    measured.start = static_cast<double>(ended.execute_cmd_start()) / us_of_second;
    measured.end = static_cast<double>(ended.execute_cmd_finish()) / us_of_second;
    show_measured(ended.resources_measured(), measured);
    measured.exit_status = ended.exit_status();
    if (ended.result() == TaskResult::signal) measured.signal = ended.return_status();
    // Copies, since the task may be specified anew.
    const auto copy = [](std::string& to, const char* text) {
        to = text_or_empty(text);
        return text == nullptr ? nullptr : to.data();
    };
    measured.category = copy(box.category_text, box.category);
    measured.command = copy(box.command_text, box.command_line);
    measured.taskid = copy(box.id_text, std::to_string(box.taskid).c_str());
    measured.exit_type = const_cast<char*>(exit_type(ended));
    measured.limits_exceeded = box.limits_exceeded;
    show_snapshots(box, ended, measured);
    show_peak_times(box, ended.peak_times(), measured);
}

}  // namespace

void clear_outcome(TaskBox& box) {
    box.taskid = 0;
    box.return_status = box.exit_status = -1;
    box.result = WORK_QUEUE_RESULT_UNKNOWN;
    for (char* work_queue_task::*field : {&work_queue_task::output, &work_queue_task::reason,
                                          &work_queue_task::host, &work_queue_task::hostname})
        box.set_text(field, std::nullopt);
    box.output_size = 0;
    box.try_count = box.exhausted_attempts = box.fast_abort_count = 0;
    box.time_when_submitted = box.time_when_done = 0;
    box.time_when_commit_start = box.time_when_commit_end = box.time_when_retrieval = 0;
    box.time_workers_execute_last = box.time_workers_execute_all = 0;
    box.time_workers_execute_exhaustion = box.time_workers_execute_failure = 0;
    box.total_transfer_time = box.time_app_delay = 0;
    box.bytes_received = box.bytes_sent = box.bytes_transferred = 0;
    box.clear_resources();
    show_other_names(box);
}

void show_outcome(TaskBox& box, const Task& ended) {
    const int id = box.taskid;
    clear_outcome(box);
    box.taskid = id;
    box.return_status = box.exit_status = ended.return_status();
    box.result = static_cast<work_queue_result_t>(ended.result());
    box.output_size = ended.output_view().size() + ended.error_output_view().size();
    box.bytes_received = ended.bytes_received();
    box.bytes_sent = ended.bytes_sent();
    box.bytes_transferred = box.bytes_received + box.bytes_sent;
    box.set_output(ended);
    box.set_text(&work_queue_task::reason, ended.reason());
    box.set_text(&work_queue_task::host, or_null(ended.host()));
    box.set_text(&work_queue_task::hostname, or_null(ended.hostname()));
    box.try_count = static_cast<int>(ended.attempts());
    box.exhausted_attempts = static_cast<int>(ended.exhausted_attempts());
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

}  // namespace wq::bindings::c

size_t work_queue_task_output_size(const work_queue_task* t) {
    const wq::bindings::c::TaskBox* box = wq::bindings::c::task_of(__func__, t);
    return box == nullptr ? 0 : box->output_size;
}
