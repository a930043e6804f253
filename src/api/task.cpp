// Task's files, as specified. submit() checks them.

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

#include "api/task_data.h"
#include "api/translation.h"
#include "work_queue/task.h"

namespace wq {

namespace {

const TaskReport& report_of(const TaskData& data) {
    static const TaskReport none;
    return data.report ? *data.report : none;
}

std::string_view view_of(const TaskReport& report, std::size_t stream) {
    if (!report.large[stream]) return stream == 0 ? report.output : report.error_output;
    std::string_view bytes = report.large[stream]->bytes();
    bytes.remove_suffix(1);  // the NUL
    return bytes;
}

const std::string& in_memory(const TaskReport& report, std::size_t stream) {
    std::string& text = stream == 0 ? report.output : report.error_output;
    if (!report.large[stream]) return text;
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    if (text.empty()) text = view_of(report, stream);
    return text;
}

}  // namespace

std::unique_ptr<TaskData> copy_of(const TaskData& from) {
    auto copy = std::make_unique<TaskData>();
    copy->kind = from.kind;
    copy->mode = from.mode;
    copy->by_tag_only = from.by_tag_only;
    copy->id = from.id;
    copy->text = from.text;
    copy->arguments = from.arguments;
    copy->memory = from.memory;
    copy->tag = from.tag;
    copy->category = from.category;
    copy->priority = from.priority;
    if (from.specs) copy->specs = std::make_unique<TaskSpecs>(*from.specs);
    if (from.report) copy->report = std::make_unique<TaskReport>(*from.report);
    return copy;
}

const char* result_str(TaskResult result) {
    switch (result) {
        case TaskResult::success:
            return "SUCCESS";
        case TaskResult::input_missing:
            return "INPUT_MISS";
        case TaskResult::output_missing:
            return "OUTPUT_MISS";
        case TaskResult::stdout_missing:
            return "STDOUT_MISS";
        case TaskResult::signal:
            return "SIGNAL";
        case TaskResult::resource_exhaustion:
            return "RESOURCE_EXHAUSTION";
        case TaskResult::task_timeout:
            return "END_TIME";
        case TaskResult::unknown:
            return "UNKNOWN";
        case TaskResult::forsaken:
            return "FORSAKEN";
        case TaskResult::max_retries:
            return "MAX_RETRIES";
        case TaskResult::max_running_time:
            return "MAX_WALL_TIME";
        case TaskResult::disk_full:
            return "DISK_FULL";
        case TaskResult::monitor_error:
            return "MONITOR_ERROR";
        case TaskResult::output_transfer_error:
            return "OUTPUT_TRANSFER_ERROR";
    }
    return "UNKNOWN";
}

Task::Task(std::string command) : data_(std::make_unique<TaskData>()) {
    data_->text = std::move(command);
}
Task::Task(std::unique_ptr<TaskData> data) : data_(std::move(data)) {}
Task::Task(const Task& other) : data_(copy_of(other.seen())) {}
Task& Task::operator=(const Task& other) {
    if (this != &other) data_ = copy_of(other.seen());
    return *this;
}
Task::Task(Task&&) noexcept = default;
Task& Task::operator=(Task&&) noexcept = default;
Task::~Task() = default;

// A moved-from task is an empty task again.
TaskData& Task::own() {
    if (!data_) data_ = std::make_unique<TaskData>();
    return *data_;
}
const TaskData& Task::seen() const {
    static const TaskData none;
    return data_ ? *data_ : none;
}

Task Task::packed_call(std::string function, std::string arguments, CallMode mode) {
    Task task(std::move(function));
    task.data_->kind = TaskKind::call;
    task.data_->arguments = std::move(arguments);
    task.data_->mode = mode;
    return task;
}

Task Task::remote(std::string function, std::string coprocess, std::string event, CallMode mode) {
    Task task = packed_call(std::move(function), std::move(event), mode);
    task.data_->edit_specs().coprocess = std::move(coprocess);
    return task;
}

Task Task::range(std::string function, std::int64_t first, std::int64_t last, CallMode mode) {
    Task task(std::move(function));
    task.data_->kind = TaskKind::range;
    task.data_->mode = mode;
    task.data_->edit_specs().first = first;
    task.data_->edit_specs().last = std::max(first, last);
    return task;
}

// ---- what it needs ----

Task& Task::command(std::string text) {
    own().kind = TaskKind::command;
    own().text = std::move(text);
    own().arguments.clear();
    own().memory.reset();
    return *this;
}
Task& Task::tag(std::string text) {
    own().tag = std::move(text);
    return *this;
}
Task& Task::category(std::string name) {
    own().category = name.empty() ? "default" : std::move(name);
    return *this;
}
Task& Task::priority(double value) {
    own().priority = value;
    return *this;
}
Task& Task::cores(double count) {
    own().edit_specs().needs.cores = count;
    return *this;
}
Task& Task::memory(std::int64_t mb) {
    own().edit_specs().needs.memory = mb;
    return *this;
}
Task& Task::disk(std::int64_t mb) {
    own().edit_specs().needs.disk = mb;
    return *this;
}
Task& Task::gpus(double count) {
    own().edit_specs().needs.gpus = count;
    return *this;
}
Task& Task::feature(std::string name) {
    own().edit_specs().features.push_back(std::move(name));
    return *this;
}
Task& Task::max_retries(std::int64_t n) {
    own().edit_specs().max_retries = n;
    return *this;
}
Task& Task::environment_variable(std::string name, std::optional<std::string> value) {
    auto& all = own().edit_specs().environment;
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == name; });
    if (same != all.end())
        same->second = std::move(value);
    else
        all.emplace_back(std::move(name), std::move(value));
    return *this;
}
Task& Task::running_time_max(std::int64_t seconds) {
    own().edit_specs().running_time_max = seconds;
    return *this;
}
Task& Task::running_time_min(std::int64_t seconds) {
    own().edit_specs().running_time_min = seconds;
    return *this;
}
Task& Task::end_time(std::int64_t us_since_epoch) {
    own().edit_specs().end_time = us_since_epoch;
    return *this;
}
Task& Task::start_time_min(std::int64_t us_since_epoch) {
    own().edit_specs().start_time_min = us_since_epoch;
    return *this;
}
Task& Task::coprocess(std::string name) {
    own().edit_specs().coprocess = std::move(name);
    return *this;
}
Task& Task::call_mode(CallMode mode) {
    own().mode = mode;
    return *this;
}
Task& Task::snapshot_file(std::string path) {
    own().edit_specs().has_snapshots = true;
    return input_file(std::move(path), engine::model::snapshots_file, {true});
}
Task& Task::monitor_output(std::string folder) {
    own().edit_specs().monitor_output = std::move(folder);
    return *this;
}
void Task::specify_running_time(std::int64_t us) {
    running_time_max(us <= 0 ? 0 : (us - 1) / 1'000'000 + 1);
}

// ---- what was specified ----

TaskKind Task::kind() const {
    return seen().kind;
}
const std::string& Task::command() const {
    static const std::string none;
    return seen().kind == TaskKind::command ? seen().text : none;
}
const std::string& Task::function() const {
    static const std::string none;
    return seen().kind == TaskKind::command ? none : seen().text;
}
const std::string& Task::tag() const {
    return seen().tag;
}
const std::string& Task::category() const {
    return seen().category;
}
double Task::priority() const {
    return seen().priority;
}
TaskResources Task::resources_requested() const {
    return seen().specs ? seen().specs->needs : TaskResources{};
}

// ---- results ----

std::int64_t Task::id() const {
    return seen().id;
}
TaskResult Task::result() const {
    return report_of(seen()).result;
}
bool Task::ok() const {
    return seen().report && seen().report->result == TaskResult::success && seen().report->exit_status == 0;
}
int Task::exit_status() const {
    return report_of(seen()).exit_status;
}
int Task::return_status() const {
    return report_of(seen()).return_status;
}
const std::string& Task::output() const {
    return in_memory(report_of(seen()), 0);
}
const std::string& Task::error_output() const {
    return in_memory(report_of(seen()), 1);
}
std::string_view Task::output_view() const {
    return view_of(report_of(seen()), 0);
}
std::string_view Task::error_output_view() const {
    return view_of(report_of(seen()), 1);
}
const std::string& Task::reason() const {
    return report_of(seen()).reason;
}
const std::string& Task::packed_result() const {
    return report_of(seen()).packed_result;
}
std::int64_t Task::index() const {
    return report_of(seen()).index;
}
const RangeProgress& Task::progress() const {
    return report_of(seen()).progress;
}
const std::string& Task::host() const {
    return report_of(seen()).host;
}
const std::string& Task::hostname() const {
    return report_of(seen()).hostname;
}
std::uint32_t Task::attempts() const {
    return report_of(seen()).attempts;
}
std::uint32_t Task::exhausted_attempts() const {
    return report_of(seen()).exhausted_attempts;
}
TaskResources Task::resources_allocated() const {
    return report_of(seen()).allocated;
}
const TaskUsage& Task::resources_measured() const {
    return report_of(seen()).usage;
}
TaskResources Task::limits_exceeded() const {
    return report_of(seen()).exceeded;
}
std::int64_t Task::submit_time() const {
    return report_of(seen()).submit_time;
}
std::int64_t Task::commit_time() const {
    return report_of(seen()).commit_time;
}
std::int64_t Task::execute_cmd_start() const {
    return report_of(seen()).execute_start;
}
std::int64_t Task::execute_cmd_finish() const {
    const TaskReport& report = report_of(seen());
    return report.execute_start == 0 ? 0 : report.execute_start + report.usage.wall_time;
}
std::int64_t Task::finish_time() const {
    return report_of(seen()).finish_time;
}
std::vector<TaskSnapshot> Task::snapshots() const {
    std::vector<TaskSnapshot> all;
    if (const auto& monitor = report_of(seen()).monitor)
        for (const engine::model::UsagePoint& point : monitor->points)
            if (!point.label.empty()) all.push_back({point.label, point.at_us, api::usage_of(point.usage)});
    return all;
}
TaskUsage Task::peak_times() const {
    const auto& monitor = report_of(seen()).monitor;
    TaskUsage times = api::usage_of(monitor ? monitor->peak_us : engine::model::Usage{});
    if (monitor) times.cores = static_cast<double>(monitor->peak_us.cores);
    return times;
}
std::int64_t Task::bytes_sent() const {
    return report_of(seen()).bytes_sent;
}
std::int64_t Task::bytes_received() const {
    return report_of(seen()).bytes_received;
}
std::int64_t Task::return_time() const {
    return report_of(seen()).return_time;
}
std::int64_t Task::cmd_execution_time() const {
    return report_of(seen()).usage.wall_time;
}

const char* exit_type(const Task& ended) {
    if (ended.result() == TaskResult::resource_exhaustion || ended.result() == TaskResult::max_running_time)
        return "limits";
    return ended.result() == TaskResult::signal ? "signal" : "normal";
}

namespace {

std::string last_part_of(const std::string& path) {
    return std::filesystem::path(path + "/").parent_path().filename();
}

// "b.gz" for `http://host/a/b.gz?x#y`, "" for `http://host/`.
std::string last_part_of_url(const std::string& url) {
    const std::string path = url.substr(0, url.find_first_of("?#"));
    const std::size_t host = path.find("://");
    const std::size_t slash = path.rfind('/');
    if (slash == path.npos || (host != path.npos && slash <= host + 2)) return {};
    return path.substr(slash + 1);
}

}  // namespace

Task& Task::input_file(std::string path, std::string name, FileOptions options) {
    if (name.empty()) name = last_part_of(path);
    own().edit_files().inputs.push_back(
        {files::trees::InputSource::file, std::move(path), {}, std::move(name), options.cache});
    return *this;
}
Task& Task::input_buffer(std::string bytes, std::string name, FileOptions options) {
    own().edit_files().inputs.push_back(
        {files::trees::InputSource::buffer, std::move(bytes), {}, std::move(name), options.cache});
    return *this;
}
Task& Task::input_piece(std::string path, std::string name, std::uint64_t first_byte, std::uint64_t last_byte,
                        FileOptions options) {
    own().edit_files().inputs.push_back({files::trees::InputSource::file, std::move(path),
                                         files::trees::Piece{first_byte, last_byte}, std::move(name),
                                         options.cache});
    return *this;
}
Task& Task::input_folder(std::string name) {
    own().edit_files().inputs.push_back({files::trees::InputSource::folder, {}, {}, std::move(name), false});
    return *this;
}
Task& Task::input_url(std::string url, std::string name, FileOptions options) {
    if (name.empty()) name = last_part_of_url(url);
    own().edit_files().inputs.push_back(
        {files::trees::InputSource::url, std::move(url), {}, std::move(name), options.cache});
    return *this;
}
Task& Task::input_command(std::string line, std::string name, FileOptions options) {
    own().edit_files().inputs.push_back(
        {files::trees::InputSource::command, std::move(line), {}, std::move(name), options.cache});
    return *this;
}
Task& Task::output_file(std::string path, std::string name, FileOptions options) {
    if (name.empty()) name = last_part_of(path);
    own().edit_files().outputs.push_back({std::move(name), std::move(path), options.watch,
                                          !options.success_only, !options.failure_only, options.cache});
    return *this;
}

void Task::specify_directory(std::string path, std::string name, bool recursive, bool cache) {
    if (name.empty()) name = last_part_of(path);
    if (recursive)
        input_file(std::move(path), std::move(name), {cache});
    else
        input_folder(std::move(name));
}

}  // namespace wq
