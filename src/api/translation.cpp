#include "api/translation.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/relative_path.h"
#include "base/units.h"

namespace wq::api {

namespace {

// Smaller ranges are leased call by call, like plain tasks, and need no separate batch.
constexpr std::uint64_t large_range = 256;
constexpr std::uint64_t most_indexes = std::uint64_t{1} << 48;

Duration seconds(std::int64_t count) {
    constexpr std::int64_t most = std::int64_t{100} * 365 * 24 * 3600;
    return std::chrono::seconds(std::clamp<std::int64_t>(count, 0, most));
}

// Five retries are six attempts, as in Work Queue.
std::uint32_t tries(std::int64_t max_retries) {
    if (max_retries < 1) return 0;
    return static_cast<std::uint32_t>(std::min<std::int64_t>(max_retries, UINT32_MAX - 1)) + 1;
}

Error no_task(std::string why) {
    return {ExitCode::usage, std::move(why)};
}

// Normalizes names.
Status check(files::trees::TaskFiles& files) {
    const auto in_one_form = [](std::string& name) -> Status {
        auto form = relative_path(name);
        if (!form)
            return no_task("a file cannot be " + quote_for_message(name) +
                           " in a sandbox: give a relative path without '..'");
        name = std::move(*form);
        return success();
    };
    // The program may change its working folder before the files are read.
    std::error_code no_folder;
    const auto absolute = [&](std::string& path) {
        path = std::filesystem::absolute(path, no_folder);
        return !no_folder;
    };
    for (files::trees::InputFile& input : files.inputs) {
        if (input.source == files::trees::InputSource::url && input.from.empty())
            return no_task("an input file has no URL");
        if (input.source == files::trees::InputSource::command && input.from.empty())
            return no_task("an input file has no command");
        if (input.source == files::trees::InputSource::file) {
            if (input.from.empty()) return no_task("an input file has no path");
            if (!absolute(input.from)) return no_task("the current folder: " + no_folder.message());
        }
        if (const Status named = in_one_form(input.name); !named) return named;
        if (input.piece && input.piece->first > input.piece->last)
            return no_task("a piece of " + quote_for_message(input.from) + " begins after its end");
    }
    for (files::trees::OutputFile& output : files.outputs) {
        if (output.to.empty()) return no_task("an output file has no path");
        if (!absolute(output.to)) return no_task("the current folder: " + no_folder.message());
        if (!output.on_failure && !output.on_success)
            return no_task("an output file cannot be both failure_only and success_only");
        if (const Status named = in_one_form(output.name); !named) return named;
    }
    if (const auto conflict = files::trees::conflict(files)) return no_task(*conflict);
    return success();
}

constexpr char end_of_text = '\0';  // where the system ends a command line or a variable

Status check(const EnvironmentChanges& changes) {
    for (const auto& [name, value] : changes) {
        if (name.empty() || name.find('=') != std::string::npos ||
            name.find(end_of_text) != std::string::npos)
            return no_task("a variable cannot be named " + quote_for_message(name));
        if (value && value->find(end_of_text) != std::string::npos)
            return no_task("the value of the variable " + name + " has a zero byte");
    }
    return success();
}

Status check(TaskSpecs& specs) {
    if (!specs.monitor_output.empty()) {
        auto folder = summaries_folder(specs.monitor_output);
        if (!folder) return no_task("monitor_output: " + folder.error().message);
        specs.monitor_output = std::move(*folder);
    }
    for (const std::string& feature : specs.features)
        if (feature.starts_with(engine::model::function_feature))
            return no_task("feature(" + quote_for_message(feature) +
                           "): calls of the function require it by themselves");
    if (specs.coprocess.size() > engine::model::longest_feature)
        return no_task("the name of a coprocess has at most " +
                       std::to_string(engine::model::longest_feature) + " bytes");
    if (const Status sound = check(specs.environment); !sound) return sound;
    return check_amounts(specs.needs);
}

engine::model::Needs needs_of(const TaskData& task, bool category_speaks) {
    engine::model::Needs needs;
    if (task.specs) needs = api::needs_of(task.specs->needs);
    if (task.remote()) {
        needs.coprocesses = 1;
        return needs;
    }
    // A function needs one core; a command's needs are unknown, so it may get the whole worker.
    if (needs == engine::model::Needs{} && task.kind != TaskKind::command && !category_speaks)
        needs.cores = 1;
    return needs;
}

// A command with a coprocess becomes a call, whose event was given as the file "infile".
void make_call(TaskData& task) {
    task.kind = TaskKind::call;
    task.arguments = "{}";
    if (!task.specs->files) return;
    files::trees::TaskFiles& files = task.edit_files();
    const auto event =
        std::find_if(files.inputs.begin(), files.inputs.end(), [](const files::trees::InputFile& input) {
            return input.source == files::trees::InputSource::buffer && input.name == "infile";
        });
    if (event == files.inputs.end()) return;
    task.arguments = std::move(event->from);
    files.inputs.erase(event);
    if (files.inputs.empty() && files.outputs.empty()) task.specs->files.reset();
}

}  // namespace

Status check(TaskData& task) {
    if (task.remote() && task.kind == TaskKind::command) make_call(task);
    if (task.remote() && task.kind == TaskKind::range) return no_task("a range cannot have a coprocess");
    if (task.specs && task.specs->files) {
        if (task.kind != TaskKind::command && task.mode != CallMode::fork && !task.remote())
            return no_task("only commands and calls of CallMode::fork can have files");
        if (task.kind == TaskKind::range) return no_task("calls of a range cannot have files");
        if (const Status sound = check(task.edit_files()); !sound) return sound;
    }
    if (task.text.empty())
        return no_task(task.kind == TaskKind::command ? "a task needs a command"
                                                      : "a call needs the name of a function");
    if (task.kind == TaskKind::command && task.text.find(end_of_text) != std::string::npos)
        return no_task("a command cannot have a zero byte");
    if (task.kind == TaskKind::range && task.count() == 0)
        return no_task("a range needs at least one index: last must be greater than first");
    if (task.count() > most_indexes) return no_task("a range has at most 2^48 indexes");
    return task.specs ? check(*task.specs) : success();
}

engine::model::Shape shape_of(const TaskData& task, bool category_speaks) {
    engine::model::Shape shape;
    shape.needs = needs_of(task, category_speaks);
    shape.priority = task.priority;
    if (task.kind == TaskKind::range && task.count() >= large_range)
        shape.kind = static_cast<std::uint64_t>(task.id);
    shape.unstoppable = task.kind != TaskKind::command && task.mode != CallMode::fork && !task.remote();
    if (task.remote())
        shape.features.push_back(std::string(engine::model::coprocess_feature) + task.specs->coprocess);
    else if (task.kind != TaskKind::command)
        shape.features.push_back(std::string(engine::model::function_feature) + task.text);
    shape.large = task.memory != nullptr;
    if (!task.specs) return shape;
    shape.leased_only = task.specs->files != nullptr || task.remote();
    shape.measured = task.specs->is_measured();
    const TaskSpecs& specs = *task.specs;
    shape.timeout = seconds(specs.running_time_max);
    shape.min_time = seconds(specs.running_time_min);
    shape.max_tries = tries(specs.max_retries);
    shape.features.insert(shape.features.end(), specs.features.begin(), specs.features.end());
    std::sort(shape.features.begin(), shape.features.end());
    if (specs.start_time_min > 0) shape.not_before = specs.start_time_min;
    if (specs.end_time > 0) shape.not_after = specs.end_time;
    return shape;
}

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
    report.return_status = kind == TaskKind::call ? engine::model::return_status_of_call(outcome)
                                                  : engine::model::return_status(outcome);
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

namespace {

std::string text_of(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

Error refused(std::string why) {
    return {ExitCode::usage, std::move(why)};
}

// Amounts below a thousandth are rounded up to one.
std::int64_t thousandths(double said) {
    if (!(said > 0)) return engine::model::unsaid;
    return std::max<std::int64_t>(std::llround(said * 1000), 1);
}

std::int64_t said_or_not(std::int64_t amount) {
    return amount > 0 ? amount : engine::model::unsaid;
}

}  // namespace

Status check_amounts(const TaskResources& needs) {
    struct Amount {
        const char* name;
        std::int64_t said;
    };
    for (const auto& [name, said] : {Amount{"memory", needs.memory}, Amount{"disk", needs.disk}})
        if (said < -1 || said > most_mb)
            return refused(std::string(name) + "(" + std::to_string(said) +
                           "): give a number of MB from 0 to " + std::to_string(most_mb) +
                           " (1 EiB), or -1 for not specified");
    struct Fraction {
        const char* name;
        double said;
    };
    for (const auto& [name, said] : {Fraction{"cores", needs.cores}, Fraction{"gpus", needs.gpus}})
        if (!(said == -1 || (said >= 0 && said <= static_cast<double>(most_cores))))
            return refused(std::string(name) + "(" + text_of(said) + "): give a number from 0 to " +
                           std::to_string(most_cores) + ", or -1 for not specified");
    return success();
}

engine::model::Sizes sizes_of(const TaskResources& said) {
    return {thousandths(said.cores), said_or_not(said.memory), said_or_not(said.disk),
            thousandths(said.gpus)};
}

engine::model::Needs needs_of(const TaskResources& said) {
    const engine::model::Sizes sizes = sizes_of(said);
    const auto count = [](std::int64_t size) { return size < 0 ? Count(-1) : Count::of_thousandths(size); };
    return {count(sizes.cores), sizes.memory_mb, sizes.disk_mb, count(sizes.gpus)};
}

Result<engine::model::AllocationMode> mode_of(AllocationMode mode) {
    const int number = static_cast<int>(mode);
    if (number >= 0 && number <= static_cast<int>(engine::model::last_mode))
        return static_cast<engine::model::AllocationMode>(number);
    return refused("unknown mode " + std::to_string(number) + ": give 0 (fixed) to " +
                   std::to_string(static_cast<int>(engine::model::last_mode)) + " (" +
                   std::string(engine::model::name_of(engine::model::last_mode)) + ")");
}

Result<engine::model::ResourceKind> resource_named(const std::string& name) {
    if (name == "cores") return engine::model::ResourceKind::cores;
    if (name == "memory") return engine::model::ResourceKind::memory;
    if (name == "disk") return engine::model::ResourceKind::disk;
    if (name == "gpus") return engine::model::ResourceKind::gpus;
    return refused("unknown resource " + quote_for_message(name) + ": give cores, memory, disk or gpus");
}

Result<std::string> summaries_folder(const std::string& folder) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::absolute(folder, error);
    if (error) return refused("the current folder: " + error.message());
    std::filesystem::create_directories(path, error);
    if (error) return refused(folder + ": " + error.message());
    if (!std::filesystem::is_directory(path, error)) return refused(folder + ": it is not a folder");
    if (::access(path.c_str(), W_OK | X_OK) != 0)
        return refused(folder + ": " + std::system_category().message(errno));
    return path.string();
}

}  // namespace wq::api
