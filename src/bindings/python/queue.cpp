// What Python's WorkQueue is made of; work_queue/queue.py has the methods that convert or check values.

#include "bindings/python/queue.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>

#include <pybind11/stl.h>

#include "api/listening.h"
#include "api/queue_status.h"
#include "api/task_data.h"
#include "api/tuning.h"
#include "bindings/python/module.h"
#include "manager/status/lister.h"
#include "net/frames/contact.h"

namespace wq::bindings::python {

namespace {

constexpr std::size_t most_kept = 4;
constexpr std::uint64_t most_bytes_kept = 512 << 20;
constexpr rlim_t most_descriptors = 512;

// A long queue of large calls must leave descriptors for the program and its connections: half of all, and
// half of those that select() takes.
int descriptor_below() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<int>(std::min<rlim_t>(most_descriptors, limit.rlim_cur / 2));
}

}  // namespace

CallMemories::Shared CallMemories::with(const std::vector<std::string_view>& parts) {
    std::uint64_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    const auto free =
        std::find_if(last_.begin(), last_.end(), [&](const std::shared_ptr<MemoryFile>& memory) {
            return memory.use_count() == 1 && memory->is_for(size);
        });
    if (free != last_.end()) {
        std::atomic_thread_fence(std::memory_order_acquire);  // the manager's thread may have read it
        std::shared_ptr<MemoryFile> memory = std::move(*free);
        last_.erase(free);
        if (without_lock([&] { return memory->refill(parts); })) return keep(std::move(memory));
    }
    auto memory = without_lock([&] { return MemoryFile::with(parts, descriptor_below()); });
    return memory ? keep(std::make_shared<MemoryFile>(std::move(*memory))) : nullptr;
}

CallMemories::Shared CallMemories::keep(std::shared_ptr<MemoryFile> memory) {
    last_.push_back(memory);
    std::uint64_t bytes = 0;
    for (const std::shared_ptr<MemoryFile>& one : last_) bytes += one->capacity();
    while (!last_.empty() && (last_.size() > most_kept || bytes > most_bytes_kept)) {
        bytes -= last_.front()->capacity();
        last_.erase(last_.begin());
    }
    return memory;
}

}  // namespace wq::bindings::python

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

std::size_t is_by_tag_only(const PyTask& task) {
    return TaskAccess::data(task.spec).by_tag_only ? 1 : 0;
}

}  // namespace

PyQueue::PyQueue(ManagerOptions options, api::HeldPort held, std::shared_ptr<MpiSession> session)
    : session_(std::move(session)),
      deferred_(std::make_unique<api::DeferredManager>(std::move(options), std::move(held))) {}

PyQueue::~PyQueue() {
    end();
}

void PyQueue::end() {
    for (auto& [id, object] : std::exchange(tasks_, {})) object.cast<PyTask&>().in_queue = false;
    by_tag_only_ = 0;
    memories_.clear();
    waits_->ended = true;
    lines_.reset();
    auto session = std::move(session_);
    auto manager = deferred_->leave();
    // Its last lines may be for a function of Python.
    without_lock([&] {
        std::unique_lock last(waits_->in_manager, std::defer_lock);
        if (manager) last.lock();
        manager.reset();
        session.reset();
        return true;
    });
}

void PyQueue::interpreter_ends() {
    thread_of_the_end_ = std::this_thread::get_id();
}

void PyQueue::refuse() const {
    const auto own = std::this_thread::get_id();
    if (thread_of_the_end_.value_or(own) == own) throw std::runtime_error(deferred_->why_not());
    PyErr_SetNone(PyExc_SystemExit);
    throw py::error_already_set();
}

void PyQueue::set_say(py::function say) {
    lines_ = std::make_shared<HeldLines>(Callback(std::move(say)));
    deferred_->options.say = [lines = lines_](const std::string& line) { lines->print_line(line); };
}

// Python's lock is held, so that it starts once. A manager that fails to start waits for the thread of its
// lines, which must not wait for Python's lock then.
Manager& PyQueue::serving() {
    Manager* const manager = deferred_->serving();
    if (const auto lines = std::exchange(lines_, nullptr)) lines->release();
    if (manager == nullptr) refuse();
    return *manager;
}

std::int64_t PyQueue::submit(const py::object& object) {
    auto& task = object.cast<PyTask&>();
    static_cast<void>(task.to_specify());
    if (!deferred_->ours() || is_over()) refuse();
    if (ids_.next() == 0) throw std::runtime_error("no ids of tasks are left");
    std::string refusal;
    const std::int64_t id = deferred_->submit(task.spec, refusal);
    // The next submit() makes another one.
    auto data = TaskAccess::take(std::move(task.spec));
    data->memory.reset();
    task.spec = TaskAccess::wrap(std::move(data));
    if (id == 0) throw py::value_error(refusal);
    task.id = ids_.next();
    ids_.take();
    task.in_queue = true;
    task.ended.reset();
    tasks_.emplace(id, object);
    by_tag_only_ += is_by_tag_only(task);
    return task.id;
}

std::int64_t PyQueue::begin_ids(int least) {
    ids_.at_least(least);
    return ids_.next();
}

std::int64_t PyQueue::of_manager(std::int64_t id) const {
    if (id < 1 || id > std::numeric_limits<int>::max()) return 0;
    return ids_.of_manager(static_cast<int>(id)).value_or(0);
}

py::object PyQueue::take_back(std::optional<Task> ended) {
    if (!ended) return py::none();
    const auto found = tasks_.find(ended->id());
    if (found == tasks_.end()) return py::none();
    py::object object = std::move(found->second);
    tasks_.erase(found);
    auto& task = object.cast<PyTask&>();
    by_tag_only_ -= is_by_tag_only(task);
    task.ended = std::move(ended);
    task.in_queue = false;
    return object;
}

py::list PyQueue::cancel_by_category(const std::string& category) {
    // There may be many.
    std::vector<Task> cancelled = without_lock([&manager = serving(), waits = waits_, &category] {
        const std::shared_lock in_manager(waits->in_manager);
        return waits->ended ? std::vector<Task>() : manager.cancel_by_category(category);
    });
    py::list all;
    for (Task& task : cancelled)
        if (py::object object = take_back(std::move(task)); !object.is_none()) all.append(object);
    return all;
}

std::vector<py::object> PyQueue::tasks() const {
    std::vector<std::int64_t> ids;
    for (const auto& [id, task] : tasks_) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    std::vector<py::object> all;
    for (const std::int64_t id : ids) all.push_back(tasks_.at(id));
    return all;
}

std::string PyQueue::status(const std::string& request) {
    Manager& manager = serving();
    const auto what = manager::status::status_of(request);
    if (!what) throw py::value_error("status of '" + request + "': give queue, tasks, workers or categories");
    api::TasksOfProgram tasks;
    for (const auto& [id, object] : tasks_) {
        const PyTask& task = object.cast<PyTask&>();
        manager::status::TaskOfStatus named = api::named(task.id, TaskAccess::data(task.spec));
        if (!task.call_name.empty()) named.command = task.call_name;
        tasks.emplace_back(id, std::move(named));
    }
    const ManagerOptions& options = deferred_->options;
    return api::status_as_json(*what, manager, api::described(options, manager.port()), std::move(tasks));
}

py::object PyQueue::wait(double seconds, const std::optional<Text>& tag) {
    bool none_is_left = false;
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(std::max(seconds, 0.0));
    if (!tag && !serving().gather({})) {
        in_parts(seconds, none_is_left, [&manager = serving(), waits = waits_](auto limit) {
            const std::shared_lock in_manager(waits->in_manager);
            return waits->ended || manager.gather(limit) ? std::optional(true) : std::nullopt;
        });
        const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
        if (seconds >= 0) seconds = std::max(left.count(), 0.0);
    }
    auto ended = in_parts(seconds, none_is_left, [&manager = serving(), waits = waits_, &tag](auto limit) {
        const std::shared_lock in_manager(waits->in_manager);
        if (waits->ended) return std::optional<Task>();
        return tag ? manager.wait_for_tag_at_most(*tag, limit) : manager.wait_at_most(limit);
    });
    return take_back(std::move(ended));
}

}  // namespace wq::bindings::python

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

// Throws SetupError, as a Manager does.
api::HeldPort hold_port(const ManagerOptions& options, bool loopback) {
    if (!options.listen) return {};
    auto held = api::hold_port(options,
                               loopback ? std::vector<std::string>{"127.0.0.1"} : std::vector<std::string>{});
    if (!held) throw SetupError(held.error().message, to_int(held.error().code));
    return std::move(*held);
}

// `port`: none: no TCP. `ranks`: a PyRanks, or None.
std::unique_ptr<PyQueue> make_queue(std::optional<int> port, std::optional<std::pair<int, int>> range,
                                    bool ssl, const Text& key, const Text& certificate, bool shutdown,
                                    bool loopback, const py::object& ranks) {
    ManagerOptions options;
    options.listen = port.has_value();
    options.port = port.value_or(0);
    std::shared_ptr<MpiSession> session;
    if (!ranks.is_none()) session = ranks.cast<PyRanks&>().session();
    options.mpi = session.get();
    options.port_range = range;
    options.ssl = ssl;
    options.ssl_key = key;
    options.ssl_certificate = certificate;
    options.shutdown = shutdown;
    options.output_limit = 1u << 30;  // the maximum, as in Work Queue
    auto held = hold_port(options, loopback);
    return std::make_unique<PyQueue>(std::move(options), std::move(held), std::move(session));
}

ManagerOptions& before_start(PyQueue& queue, const char* function) {
    if (queue.deferred().begun())
        throw std::runtime_error(std::string(function) +
                                 ": too late: call it before the first wait() or other call for results");
    return queue.deferred().options;
}

template <class Value>
void set_option(PyQueue& queue, Value ManagerOptions::*option, const std::type_identity_t<Value>& value) {
    const Status done = queue.deferred().specify([&](ManagerOptions& options) { options.*option = value; });
    if (!done) throw SetupError(done.error().message, to_int(done.error().code));
}

// Returns a warning, or "".
py::str password_file(PyQueue& queue, const Text& path) {
    std::string warning;
    auto password = net::frames::read_password(path, [&](const std::string& line) { warning = line; });
    if (!password) throw SetupError(password.error().message, to_int(password.error().code));
    set_option(queue, &ManagerOptions::password, *password);
    return to_str(warning);
}

auto text_option(std::string ManagerOptions::*option) {
    return [=](PyQueue& queue, const Text& value) { set_option(queue, option, value); };
}
auto text_option_or_none(std::string ManagerOptions::*option) {
    return [=](PyQueue& queue, const std::optional<Text>& value) {
        set_option(queue, option, value ? value->bytes : std::string());
    };
}
auto number_option(int ManagerOptions::*option) {
    return [=](PyQueue& queue, int value) { set_option(queue, option, value); };
}

void bind_start(py::class_<PyQueue>& queue) {
    queue.def(py::init(&make_queue), py::arg("port"), py::arg("port_range"), py::arg("ssl"),
              py::arg("ssl_key"), py::arg("ssl_certificate"), py::arg("shutdown"), py::arg("loopback"),
              py::arg("ranks"));
    queue
        .def_property_readonly(
            "port", [](PyQueue& q) { return q.deferred().port(); }, "The TCP port that workers connect to.")
        .def_property_readonly(
            "name", [](PyQueue& q) { return to_str(q.deferred().options.name); },
            "The name by which workers find it; empty: none.")
        .def_property_readonly(
            "using_ssl", [](PyQueue& q) { return q.deferred().options.ssl; }, "Whether connections use TLS.")
        .def_property_readonly("_begun", [](PyQueue& q) { return q.deferred().begun(); })
        .def_property_readonly("_is_over", &PyQueue::is_over)
        .def("_serve", [](PyQueue& q) { q.serving(); })
        .def("_end", &PyQueue::end)
        .def("_interpreter_ends", &PyQueue::interpreter_ends)
        .def("__reduce__",
             [](const py::object&) -> py::object {
                 throw py::type_error(
                     "a WorkQueue stays in its process: it cannot be copied or sent to a worker");
             })
        .def_property_readonly(
            "priority", [](PyQueue& q) { return q.deferred().options.priority; },
            "What specify_priority() was given.");
}

void bind_settings(py::class_<PyQueue>& queue) {
    bind_method(queue, "specify_name", text_option_or_none(&ManagerOptions::name),
                "The name by which workers find this queue (`work_queue_worker -M NAME`).", py::arg("name"));
    bind_method(
        queue, "specify_catalog_servers", text_option_or_none(&ManagerOptions::catalog),
        "specify_catalog_server() for several: \"HOST[:PORT],HOST[:PORT]\". None: those of $CATALOG_HOST; "
        "without it, none.",
        py::arg("hosts"));
    bind_method(
        queue, "specify_priority", number_option(&ManagerOptions::priority),
        "Workers serve queues with a higher priority first, among those whose name matches; default 0.",
        py::arg("priority"));
    bind_method(
        queue, "specify_num_tasks_left", number_option(&ManagerOptions::tasks_left),
        "How many tasks the program will still submit, for those who look at the queue; default 0. Raises "
        "RuntimeError below 0.",
        py::arg("ntasks"));
    for (const char* name : {"specify_manager_preferred_connection", "specify_master_preferred_connection"})
        bind_method(queue, name, text_option(&ManagerOptions::preferred_connection),
                    "How workers reach a queue of a catalog: \"by_ip\" (default), \"by_hostname\" or "
                    "\"by_apparent_ip\". Others raise RuntimeError.",
                    py::arg("mode"));
    queue.def("_catalog", text_option(&ManagerOptions::catalog))
        .def("_stats_log", text_option(&ManagerOptions::stats_log))
        .def("_transactions_log", text_option(&ManagerOptions::transactions_log))
        .def("_debug_log", text_option(&ManagerOptions::debug_log))
        .def("_password", text_option(&ManagerOptions::password))
        .def("_status_to", text_option(&ManagerOptions::status))
        .def("_contact_file",
             [](PyQueue& q, const Text& path) { before_start(q, "contact_file").contact_file = path; })
        .def("_password_file", password_file)
        .def("_keepalive",
             [](PyQueue& q, bool interval, double seconds) {
                 (interval ? q.deferred().options.keepalive_interval
                           : q.deferred().options.keepalive_timeout) = seconds;
             })
        .def("_say", [](PyQueue& q, py::function say) {
            before_start(q, "say");
            q.set_say(std::move(say));
        });
}

std::vector<py::dict> worker_groups(PyQueue& queue) {
    std::vector<py::dict> all;
    for (const auto& group : manager::status::groups_of(queue.serving().workers())) {
        py::dict one;
        one["workers"] = group.workers;
        one["cores"] = group.cores;
        one["memory"] = group.memory;
        one["disk"] = group.disk;
        one["gpus"] = group.gpus;
        all.push_back(std::move(one));
    }
    return all;
}

void bind_tasks(py::class_<PyQueue>& queue) {
    queue.def("_submit", &PyQueue::submit)
        .def("_wait", &PyQueue::wait)
        .def("__len__", &PyQueue::size)
        .def("_tasks", &PyQueue::tasks)
        .def("_status", [](PyQueue& q, const Text& request) { return to_str(q.status(request)); })
        .def("_cancel_by_taskid",
             [](PyQueue& q, std::int64_t id) {
                 return q.take_back(q.serving().cancel_by_taskid(q.of_manager(id)));
             })
        .def("_cancel_by_tasktag",
             [](PyQueue& q, const Text& tag) { return q.take_back(q.serving().cancel_by_tag(tag)); })
        .def("_cancel_by_category",
             [](PyQueue& q, const Text& category) { return q.cancel_by_category(category); });
    bind_method(
        queue, "hungry", [](PyQueue& q) { return q.serving().hungry(); },
        "How many more tasks would keep all workers busy; 0: there are enough.");
    bind_method(
        queue, "why", [](PyQueue& q, std::int64_t id) { return to_str(q.serving().why(q.of_manager(id))); },
        "One line: why the task does not run, or where it runs.", py::arg("taskid"));
    bind_method(
        queue, "task_state",
        [](PyQueue& q, std::int64_t id) {
            return static_cast<int>(q.serving().task_state(q.of_manager(id)));
        },
        "One of the constants WORK_QUEUE_TASK_*.", py::arg("taskid"));
    bind_method(
        queue, "specify_min_taskid", &PyQueue::begin_ids,
        "Ids of tasks that are submitted from now on are at least this. Returns the next id. Logs number "
        "tasks from 1.",
        py::arg("minid"));
}

// Settings that a running manager takes, too; they wait for its start.
template <class Work>
void order(PyQueue& queue, Work work) {
    queue.deferred().order([work = std::move(work)](Manager& manager) { work(manager); });
}

using SpecifyResources = bool (Manager::*)(const std::string&, const TaskResources&);
auto category_resources(SpecifyResources specify) {
    return [specify](PyQueue& queue, const Text& category, const Amounts& said) {
        order(queue, [=, name = category.bytes, said = resources_of(said)](Manager& manager) {
            (manager.*specify)(name, said);
        });
    };
}

void bind_categories(py::class_<PyQueue>& queue) {
    queue.def("_max_resources", category_resources(&Manager::specify_category_max_resources))
        .def("_min_resources", category_resources(&Manager::specify_category_min_resources))
        .def("_first_guess", category_resources(&Manager::specify_category_first_allocation_guess))
        .def("_mode",
             [](PyQueue& q, const Text& category, int mode) {
                 order(q, [name = category.bytes, mode](Manager& m) {
                     m.specify_category_mode(name, static_cast<AllocationMode>(mode));
                 });
             })
        .def("_autolabel",
             [](PyQueue& q, const Text& category, const Text& resource, bool on) {
                 order(q, [name = category.bytes, what = resource.bytes, on](Manager& m) {
                     m.enable_category_resource(name, what, on);
                 });
             })
        .def("_initialize",
             [](PyQueue& q, const Text& file, const Amounts& most) {
                 order(q, [path = file.bytes, most = resources_of(most)](Manager& m) {
                     m.initialize_categories(path, most);
                 });
             })
        .def("_monitor", [](PyQueue& q, const Text& folder, bool watchdog, bool full) {
            const auto enable = full ? &Manager::enable_monitoring_full : &Manager::enable_monitoring;
            order(q, [=, path = folder.bytes](Manager& m) { (m.*enable)(path, watchdog); });
        });
    bind_method(
        queue, "specify_category_max_concurrent",
        [](PyQueue& q, const Text& category, int most) {
            order(q, [name = category.bytes, most](Manager& m) {
                m.specify_category_max_concurrent(name, most);
            });
        },
        "How many of its tasks run at once; below 0: no limit.", py::arg("category"),
        py::arg("max_concurrent"));
}

void block_host(PyQueue& queue, const Text& host, std::int64_t seconds) {
    order(queue, [name = host.bytes, seconds](Manager& m) { m.block_host_with_timeout(name, seconds); });
}

void unblock_host(PyQueue& queue, const std::optional<Text>& host) {
    order(queue, [name = host ? std::optional(host->bytes) : std::nullopt](Manager& m) {
        name ? m.unblock_host(*name) : m.unblock_all();
    });
}

void bind_blocked_hosts(py::class_<PyQueue>& queue) {
    for (const char* name : {"block_host", "blacklist"})
        bind_method(
            queue, name, [](PyQueue& q, const Text& host) { block_host(q, host, 0); },
            "Workers of this host (`task.hostname`) get no more tasks.", py::arg("host"));
    queue.def("_block", block_host);
    for (const char* name : {"unblock_host", "blacklist_clear"})
        bind_method(queue, name, unblock_host, "Ends block_host(); None: for all hosts.",
                    py::arg("host") = py::none());
    queue.def_property_readonly(
        "blocked_hosts", [](PyQueue& q) { return q.serving().blocked_hosts(); },
        "Names of the hosts that are blocked now.");
}

void bind_workers(py::class_<PyQueue>& queue) {
    bind_method(
        queue, "shutdown_workers", [](PyQueue& q, int count) { return q.serving().shutdown_workers(count); },
        "Asks n workers (0: all) to end, idle ones first; returns how many were asked.", py::arg("n"));
    bind_method(
        queue, "workers_summary", worker_groups,
        "Workers by their resources: {\"workers\": how many, \"cores\": of each, \"memory\", \"disk\", "
        "\"gpus\"}.");
    queue
        .def_property_readonly(
            "addresses", [](PyQueue& q) { return q.serving().addresses(); },
            "All addresses for workers, the likeliest first: \"10.0.0.7:9123\".")
        .def("_drain", [](PyQueue& q, const Text& host, bool on) { return q.serving().drain(host, on); })
        .def("_fast_abort_category",
             [](PyQueue& q, const Text& category, double multiplier) {
                 order(q, [name = category.bytes, multiplier](Manager& m) {
                     m.activate_fast_abort_category(name, multiplier);
                 });
             })
        .def("_tune", [](PyQueue& q, const std::string& name, double value) {
            api::Tuning names;
            if (const auto known = names.set(name, value); !known)
                throw py::value_error(known.error().message);
            order(q, [name, value](Manager& m) { m.tune(name, value); });
        });
}

}  // namespace

void bind_queue(py::module_& module) {
    py::class_<PyQueue> queue(module, "Queue");
    bind_start(queue);
    bind_settings(queue);
    bind_tasks(queue);
    bind_categories(queue);
    bind_workers(queue);
    bind_blocked_hosts(queue);
}

}  // namespace wq::bindings::python
