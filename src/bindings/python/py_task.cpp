#include "bindings/python/py_task.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "api/task_data.h"
#include "bindings/python/module.h"
#include "bindings/python/queue.h"
#include "bindings/python/text.h"

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

constexpr std::size_t most_bytes_sent = 1 << 20;

// As in Work Queue, stdout and stderr are one text.
std::optional<py::str> output_of(const PyTask& task) {
    if (!task.ended) return std::nullopt;
    const std::string_view out = task.ended->output_view();
    const std::string_view err = task.ended->error_output_view();
    return err.empty() ? to_str(out) : to_str(std::string(out) += err);
}

template <class T>
auto result(T (Task::*get)() const) {
    return [get](const PyTask& task) { return (task.results().*get)(); };
}

// Texts of Work Queue that are None before there are any.
auto text_result(const std::string& (Task::*get)() const) {
    return [get](const PyTask& task) {
        const std::string& text = (task.results().*get)();
        return text.empty() ? std::nullopt : std::optional(to_str(text));
    };
}

auto time_result(std::int64_t (Task::*get)() const) {
    return [get](const PyTask& task) { return std::max<std::int64_t>((task.results().*get)(), 0); };
}

// The clocks of worker and manager may differ.
std::int64_t transfer_time(const PyTask& task) {
    const Task& t = task.results();
    if (t.commit_time() <= 0) return 0;
    return std::max<std::int64_t>(t.finish_time() - t.commit_time() - t.cmd_execution_time(), 0);
}

std::int64_t app_delay(const PyTask& task) {
    const Task& t = task.results();
    return t.return_time() > 0 ? std::max<std::int64_t>(t.return_time() - t.finish_time(), 0) : 0;
}

std::int64_t exhausted_time(const PyTask& task) {
    const Task& t = task.results();
    return t.result() == TaskResult::resource_exhaustion ? t.cmd_execution_time() : 0;
}

Amounts amounts(const TaskResources& r) {
    return {r.cores, r.memory, r.disk, r.gpus};
}

constexpr double us = 1e6;

double scaled(std::int64_t value, double parts) {
    return value < 0 ? -1.0 : static_cast<double>(value) / parts;
}

// Seconds and MB, as Work Queue's resource summaries have them; -1: not measured.
py::dict dict_of(const TaskUsage& used, double wall) {
    constexpr double mb = 1 << 20, mbit = 1e6 / 8;
    const double cpu = scaled(used.cpu_time >= 0 ? used.cpu_time : used.user_time + used.system_time, us);
    py::dict all;
    all["wall_time"] = wall;
    all["cpu_time"] = cpu;
    all["cores"] = used.cores;
    all["cores_avg"] = wall > 0 ? cpu / wall : 0.0;
    all["memory"] = used.memory;
    all["virtual_memory"] = used.virtual_memory;
    all["swap_memory"] = used.swap_memory;
    all["disk"] = used.disk;
    all["bytes_read"] = scaled(used.bytes_read, mb);
    all["bytes_written"] = scaled(used.bytes_written, mb);
    all["bytes_received"] = scaled(used.bytes_received, mb);
    all["bytes_sent"] = scaled(used.bytes_sent, mb);
    all["bandwidth"] = scaled(used.bandwidth, mbit);
    all["total_files"] = used.total_files;
    all["max_concurrent_processes"] = used.max_concurrent_processes;
    all["total_processes"] = used.total_processes;
    all["context_switches"] = used.context_switches;
    all["machine_cpus"] = used.machine_cpus;
    all["machine_load"] = used.machine_load;
    return all;
}

py::dict measured(const PyTask& task) {
    const Task& t = task.results();
    const TaskUsage& used = t.resources_measured();
    py::dict all = dict_of(used, scaled(used.wall_time, us));
    all["start"] = scaled(t.execute_cmd_start(), us);
    all["end"] = scaled(t.execute_cmd_finish(), us);
    all["exit_status"] = t.exit_status();
    all["signal"] = t.result() == TaskResult::signal ? t.return_status() : 0;
    if (t.execute_cmd_start() > 0) all["exit_type"] = exit_type(t);
    return all;
}

py::list snapshots(const PyTask& task) {
    py::list all;
    for (const TaskSnapshot& one : task.results().snapshots()) {
        py::dict snapshot = dict_of(one.usage, scaled(one.wall_time, us));
        snapshot["snapshot_name"] = to_str(one.name);
        all.append(snapshot);
    }
    return all;
}

// Seconds since its start.
py::dict peak_times(const PyTask& task) {
    const TaskUsage times = task.results().peak_times();
    py::dict all;
    for (const auto& [name, time] : {std::pair{"cores", static_cast<std::int64_t>(times.cores)},
                                     {"cpu_time", times.cpu_time},
                                     {"memory", times.memory},
                                     {"virtual_memory", times.virtual_memory},
                                     {"swap_memory", times.swap_memory},
                                     {"disk", times.disk},
                                     {"total_files", times.total_files},
                                     {"bandwidth", times.bandwidth},
                                     {"max_concurrent_processes", times.max_concurrent_processes}})
        if (time >= 0) all[name] = scaled(time, us);
    return all;
}

// The command; of a call, the name of the function.
const std::string& shown_command(const PyTask& task) {
    if (!task.call_name.empty()) return task.call_name;
    const std::string& line = task.spec.command();
    return line.empty() ? task.spec.function() : line;
}

void set_command(PyTask& task, const Text& line) {
    task.to_specify().command(line);
    task.call_name.clear();
}

// `first`: all lines but the last. Small parts follow these, large ones go into a memory.
void set_call(PyTask& task, PyQueue& queue, const std::string& function, const py::bytes& first,
              const std::vector<py::buffer>& parts) {
    task.to_specify();
    std::vector<py::buffer_info> infos;
    std::vector<std::string_view> bytes;
    std::size_t size = 0;
    for (const py::buffer& part : parts) {
        const py::buffer_info& info = infos.emplace_back(part.request());
        bytes.emplace_back(static_cast<const char*>(info.ptr),
                           static_cast<std::size_t>(info.size * info.itemsize));
        size += bytes.back().size();
    }
    std::string arguments(first);
    CallMemories::Shared memory = size > most_bytes_sent ? queue.memories().with(bytes) : nullptr;
    if (memory == nullptr) {
        arguments.reserve(arguments.size() + 1 + size);
        arguments += '\n';
        for (const std::string_view part : bytes) arguments += part;
    }
    task.call_name = std::string(shown_command(task));
    auto data = TaskAccess::take(std::move(task.to_specify()));
    data->kind = TaskKind::call;
    data->text = function;
    data->arguments = std::move(arguments);
    data->memory = std::move(memory);
    task.spec = TaskAccess::wrap(std::move(data));
}

// No wait without its tag returns it, and `empty()` does not count it.
void only_by_tag(PyTask& task, const Text& tag) {
    auto data = TaskAccess::take(std::move(task.to_specify()));
    data->tag = tag.bytes;
    data->by_tag_only = true;
    task.spec = TaskAccess::wrap(std::move(data));
}

// A call of a coprocess's function; its name is the command.
void set_event(PyTask& task, const Text& event) {
    auto data = TaskAccess::take(std::move(task.to_specify()));
    data->kind = TaskKind::call;
    data->arguments = event.bytes;
    task.spec = TaskAccess::wrap(std::move(data));
}

void take_settings(PyTask& to, const PyTask& of) {
    auto data = TaskAccess::take(Task(of.spec));
    data->id = 0;
    data->memory.reset();  // its submit() packs the call again
    to.to_specify() = TaskAccess::wrap(std::move(data));
    to.call_name = of.call_name;
}

void bind_settings(py::class_<PyTask>& task) {
    const auto bind_text = [&task](const char* name, void (Task::*set)(std::string), const char* parameter,
                                   const char* doc) {
        bind_method(
            task, name, [set](PyTask& t, const Text& text) { (t.to_specify().*set)(text.bytes); }, doc,
            py::arg(parameter));
    };
    bind_method(task, "specify_command", set_command, "Replaces the command.", py::arg("command"));
    bind_text("specify_coprocess", &Task::specify_coprocess, "coprocess",
              "The command is then the name of a function of this coprocess; see `RemoteTask`.");
    bind_text("specify_tag", &Task::specify_tag, "tag",
              "Any text; `WorkQueue.wait_for_tag` and `cancel_by_tasktag` find the task by it.");
    bind_text(
        "specify_category", &Task::specify_category, "name",
        "A name for similar tasks: see `WorkQueue.specify_category_max_resources`. Default: \"default\".");
    bind_text("specify_feature", &Task::specify_feature, "name",
              "Only workers that were started with `--feature NAME` may run it. Can be repeated.");
    bind_text("specify_snapshot_file", &Task::specify_snapshot_file, "filename",
              "A JSON file that says at which events in its files a snapshot of its usage is taken: see "
              "share/doc/resources.md.\n`resources_measured.snapshots` has them.");
    bind_text("specify_monitor_output", &Task::specify_monitor_output, "directory",
              "A folder of this machine for a report of what it uses, wq-PID-task-ID.summary.");
    bind_method(
        task, "specify_max_retries", [](PyTask& t, std::int64_t n) { t.to_specify().max_retries(n); },
        "Retries after lost workers and the like; below 1 (default): no limit.", py::arg("max_retries"));
}

// What work_queue/task.py calls when it has checked or converted the values.
void bind_converted_settings(py::class_<PyTask>& task) {
    task.def("_wq_call", set_call)
        .def("_wq_event", set_event)
        .def("_wq_only_by_tag", only_by_tag)
        .def("_wq_priority", [](PyTask& t, double value) { t.to_specify().priority(value); })
        .def("_wq_cores", [](PyTask& t, double count) { t.to_specify().cores(count); })
        .def("_wq_memory", [](PyTask& t, std::int64_t mb) { t.to_specify().memory(mb); })
        .def("_wq_disk", [](PyTask& t, std::int64_t mb) { t.to_specify().disk(mb); })
        .def("_wq_gpus", [](PyTask& t, double count) { t.to_specify().gpus(count); })
        .def("_wq_running_time",
             [](PyTask& t, std::int64_t micros) { t.to_specify().specify_running_time(micros); })
        .def("_wq_running_time_max", [](PyTask& t, std::int64_t s) { t.to_specify().running_time_max(s); })
        .def("_wq_running_time_min", [](PyTask& t, std::int64_t s) { t.to_specify().running_time_min(s); })
        .def("_wq_end_time", [](PyTask& t, std::int64_t micros) { t.to_specify().end_time(micros); })
        .def("_wq_start_time_min",
             [](PyTask& t, std::int64_t micros) { t.to_specify().start_time_min(micros); })
        .def("_wq_variable", [](PyTask& t, const Text& name, const std::optional<Text>& value) {
            t.to_specify().environment_variable(name, value ? std::optional(value->bytes) : std::nullopt);
        });
}

FileOptions input_options(bool cache) {
    FileOptions options;
    options.cache = cache;
    return options;
}

void bind_files(py::class_<PyTask>& task) {
    task.def("_wq_input_file",
             [](PyTask& t, const Text& path, const Text& name, bool cache) {
                 t.to_specify().input_file(path, name, input_options(cache));
             })
        .def("_wq_input_buffer",
             [](PyTask& t, const py::bytes& bytes, const Text& name, bool cache) {
                 t.to_specify().input_buffer(std::string(bytes), name, input_options(cache));
             })
        .def("_wq_input_piece",
             [](PyTask& t, const Text& path, const Text& name, std::uint64_t first, std::uint64_t last,
                bool cache) { t.to_specify().input_piece(path, name, first, last, input_options(cache)); })
        .def("_wq_input_folder", [](PyTask& t, const Text& name) { t.to_specify().input_folder(name); })
        .def("_wq_input_url", [](PyTask& t, const Text& url, const Text& name,
                                 bool cache) { t.to_specify().input_url(url, name, input_options(cache)); })
        .def("_wq_input_command",
             [](PyTask& t, const Text& line, const Text& name, bool cache) {
                 t.to_specify().input_command(line, name, input_options(cache));
             })
        .def("_wq_output_file", [](PyTask& t, const Text& path, const Text& name, bool failure_only,
                                   bool success_only, bool watch, bool cache) {
            FileOptions options;
            options.cache = cache;
            options.failure_only = failure_only;
            options.success_only = success_only;
            options.watch = watch;
            t.to_specify().output_file(path, name, options);
        });
}

// Its documentation is what help() shows.
void bind_identity(py::class_<PyTask>& task) {
    task.def_property_readonly(
            "id", [](const PyTask& t) { return t.id; },
            "Its id in its queue, or the last one; 0: it was in none.")
        .def_property_readonly(
            "command", [](const PyTask& t) { return to_str(shown_command(t)); },
            "The command, or the name of the function.")
        .def_property_readonly(
            "tag", [](const PyTask& t) { return to_str(t.spec.tag()); }, "What specify_tag() was given.")
        .def_property_readonly(
            "category", [](const PyTask& t) { return to_str(t.spec.category()); },
            "The name of its category.")
        .def_property_readonly(
            "priority", [](const PyTask& t) { return t.spec.priority(); },
            "What specify_priority() was given.")
        .def_property_readonly("_wq_in_queue", [](const PyTask& t) { return t.in_queue; });
}

void bind_results(py::class_<PyTask>& task) {
    task.def_property_readonly("std_output", output_of,
                               "What it wrote to stdout, then to stderr; None before it has ended.")
        .def_property_readonly(
            "reason", [](const PyTask& t) { return to_str(t.results().reason()); },
            "Why it failed, in a line.")
        .def_property_readonly(
            "result",
            [](const PyTask& t) {
                return static_cast<int>(t.ended ? t.ended->result() : TaskResult::unknown);
            },
            "One of WORK_QUEUE_RESULT_*: whether it ran to its end, with any exit code.")
        .def_property_readonly(
            "result_str",
            [](const PyTask& t) { return result_str(t.ended ? t.ended->result() : TaskResult::unknown); },
            "The result as a word, such as SUCCESS.")
        .def_property_readonly(
            "return_status", [](const PyTask& t) { return t.ended ? t.ended->return_status() : -1; },
            "Its exit code, or the number of the signal that killed it; -1: it did not run.")
        .def_property_readonly("host", text_result(&Task::host), "Address and port of the worker, or None.")
        .def_property_readonly("hostname", text_result(&Task::hostname),
                               "The name of the worker's host, or None.")
        .def_property_readonly("total_submissions", result(&Task::attempts), "How often it was started.")
        .def_property_readonly("exhausted_attempts", result(&Task::exhausted_attempts),
                               "How many of its attempts exceeded their resources.")
        .def_property_readonly("_wq_ok", [](const PyTask& t) { return t.ended && t.ended->ok(); })
        .def_property_readonly("_wq_result",
                               [](const PyTask& t) { return py::bytes(t.results().packed_result()); })
        .def_property_readonly("_wq_requested",
                               [](const PyTask& t) { return amounts(t.spec.resources_requested()); })
        .def_property_readonly("_wq_allocated",
                               [](const PyTask& t) { return amounts(t.results().resources_allocated()); })
        .def_property_readonly("_wq_exceeded",
                               [](const PyTask& t) { return amounts(t.results().limits_exceeded()); })
        .def_property_readonly("_wq_measured", measured)
        .def_property_readonly("_wq_snapshots", snapshots)
        .def_property_readonly("_wq_peak_times", peak_times);
}

void bind_times(py::class_<PyTask>& task) {
    const auto moment = [&task](const char* name, std::int64_t (Task::*get)() const, const char* doc) {
        task.def_property_readonly(name, time_result(get), doc);
    };
    moment("submit_time", &Task::submit_time, "When it was submitted, in microseconds since 1970.");
    moment("finish_time", &Task::finish_time, "When its result came, in microseconds since 1970.");
    moment("send_input_start", &Task::commit_time, "When it was sent to its worker.");
    moment("send_input_finish", &Task::execute_cmd_start, "When its worker had all inputs.");
    moment("execute_cmd_start", &Task::execute_cmd_start, "When it started, by the worker's clock.");
    moment("execute_cmd_finish", &Task::execute_cmd_finish, "When it ended, by the worker's clock.");
    moment("receive_output_start", &Task::execute_cmd_finish, "When its outputs began to come.");
    moment("receive_output_finish", &Task::finish_time, "When its outputs had come.");
    moment("cmd_execution_time", &Task::cmd_execution_time, "Microseconds that its last attempt ran.");
    moment("total_cmd_execution_time", &Task::cmd_execution_time, "Same as cmd_execution_time.");
    moment("total_bytes_received", &Task::bytes_received,
           "Bytes of its output, result and files that came back.");
    moment("total_bytes_sent", &Task::bytes_sent, "Bytes of its files that were sent.");
    task.def_property_readonly("total_cmd_exhausted_execute_time", exhausted_time,
                               "Microseconds of an attempt that exceeded its resources.")
        .def_property_readonly("total_transfer_time", transfer_time,
                               "Microseconds between dispatch and result in which it did not run.")
        .def_property_readonly("app_delay", app_delay, "Microseconds that its result waited for wait().")
        .def_property_readonly(
            "total_bytes_transferred",
            [](const PyTask& t) { return t.results().bytes_sent() + t.results().bytes_received(); },
            "Both together.");
}

}  // namespace

Task& PyTask::to_specify() {
    if (in_queue)
        throw std::runtime_error(
            "task " + std::to_string(id) +
            " is in a queue: specify it before submit(), or after wait() has returned it");
    return spec;
}

void bind_task(py::module_& module) {
    py::class_<PyTask> task(module, "Task");
    task.def(py::init([](const Text& command) { return PyTask(Task(command)); }), py::arg("command"))
        .def("_wq_take_settings", take_settings);
    bind_settings(task);
    bind_converted_settings(task);
    bind_files(task);
    bind_identity(task);
    bind_results(task);
    bind_times(task);
}

}  // namespace wq::bindings::python
