// What Python's WorkQueue is made of: work_queue/queue.py has the names and defaults of the manual.
#include <pybind11/stl.h>

#include <stdexcept>

#include "api/tuning.h"
#include "bindings/python/amounts.h"
#include "bindings/python/queue.h"
#include "bindings/python/ranks.h"
#include "bindings/python/text.h"
#include "manager/status/figures.h"
#include "net/frames/contact.h"

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
py::object password_file(PyQueue& queue, const Text& path) {
    std::string warning;
    auto password = net::frames::read_password(path, [&](const std::string& line) { warning = line; });
    if (!password) throw SetupError(password.error().message, to_int(password.error().code));
    set_option(queue, &ManagerOptions::password, *password);
    return to_str(warning);
}

auto text_option(std::string ManagerOptions::*option) {
    return [=](PyQueue& queue, const Text& value) { set_option(queue, option, value); };
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
            "What specify_priority() was given.")
        .def("_name", text_option(&ManagerOptions::name))
        .def("_catalog", text_option(&ManagerOptions::catalog))
        .def("_queue_priority", number_option(&ManagerOptions::priority))
        .def("_tasks_left", number_option(&ManagerOptions::tasks_left))
        .def("_preferred_connection", text_option(&ManagerOptions::preferred_connection))
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
            q.say(std::move(say));
        });
}

py::list worker_groups(PyQueue& queue) {
    py::list all;
    for (const auto& group : manager::status::groups_of(queue.serving().workers())) {
        py::dict one;
        one["workers"] = group.workers;
        one["cores"] = group.cores;
        one["memory"] = group.memory;
        one["disk"] = group.disk;
        one["gpus"] = group.gpus;
        all.append(one);
    }
    return all;
}

void bind_tasks(py::class_<PyQueue>& queue) {
    queue.def("_submit", &PyQueue::submit)
        .def("_wait", &PyQueue::wait)
        .def("__len__", &PyQueue::size)
        .def("_tasks", &PyQueue::tasks)
        .def("_hungry", [](PyQueue& q) { return q.serving().hungry(); })
        .def("_why", [](PyQueue& q, std::int64_t id) { return to_str(q.serving().why(q.of_manager(id))); })
        .def("_task_state",
             [](PyQueue& q, std::int64_t id) {
                 return static_cast<int>(q.serving().task_state(q.of_manager(id)));
             })
        .def("_begin_ids", &PyQueue::begin_ids)
        .def("_status", [](PyQueue& q, const Text& request) { return to_str(q.status(request)); })
        .def("_worker_groups", worker_groups)
        .def("_cancel_by_taskid",
             [](PyQueue& q, std::int64_t id) {
                 return q.take_back(q.serving().cancel_by_taskid(q.of_manager(id)));
             })
        .def("_cancel_by_tasktag",
             [](PyQueue& q, const Text& tag) { return q.take_back(q.serving().cancel_by_tag(tag)); })
        .def("_cancel_by_category",
             [](PyQueue& q, const Text& category) { return q.cancel_by_category(category); });
}

// Settings that a running manager takes, too; they wait for its start.
template <class Work>
void order(PyQueue& queue, Work work) {
    queue.deferred().order([work = std::move(work)](Manager& manager) { work(manager); });
}

using SpecifyResources = bool (Manager::*)(const std::string&, const TaskResources&);
auto category_resources(SpecifyResources specify) {
    return [specify](PyQueue& queue, const Text& category, const py::tuple& said) {
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
        .def("_max_concurrent",
             [](PyQueue& q, const Text& category, int most) {
                 order(q, [name = category.bytes, most](Manager& m) {
                     m.specify_category_max_concurrent(name, most);
                 });
             })
        .def("_initialize",
             [](PyQueue& q, const Text& file, const py::tuple& most) {
                 order(q, [path = file.bytes, most = resources_of(most)](Manager& m) {
                     m.initialize_categories(path, most);
                 });
             })
        .def("_monitor", [](PyQueue& q, const Text& folder, bool watchdog, bool full) {
            const auto enable = full ? &Manager::enable_monitoring_full : &Manager::enable_monitoring;
            order(q, [=, path = folder.bytes](Manager& m) { (m.*enable)(path, watchdog); });
        });
}

void bind_workers(py::class_<PyQueue>& queue) {
    queue.def("_shutdown_workers", [](PyQueue& q, int count) { return q.serving().shutdown_workers(count); })
        .def("_drain", [](PyQueue& q, const Text& host, bool on) { return q.serving().drain(host, on); })
        .def("_block",
             [](PyQueue& q, const Text& host, std::int64_t seconds) {
                 order(q, [name = host.bytes, seconds](Manager& m) {
                     m.block_host_with_timeout(name, seconds);
                 });
             })
        .def("_unblock",
             [](PyQueue& q, const std::optional<Text>& host) {
                 order(q, [name = host ? std::optional(host->bytes) : std::nullopt](Manager& m) {
                     name ? m.unblock_host(*name) : m.unblock_all();
                 });
             })
        .def("_blocked", [](PyQueue& q) { return q.serving().blocked_hosts(); })
        .def("_addresses", [](PyQueue& q) { return q.serving().addresses(); })
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
    bind_tasks(queue);
    bind_categories(queue);
    bind_workers(queue);
}

}  // namespace wq::bindings::python
