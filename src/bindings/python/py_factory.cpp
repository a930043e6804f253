// Python's Factory is made of this; work_queue/factory.py has its names and defaults.
#include "work_queue/factory.h"

#include <pybind11/stl.h>
#include <unistd.h>

#include <memory>

#include "api/factory_settings.h"
#include "bindings/python/callback.h"
#include "bindings/python/queue.h"
#include "bindings/python/text.h"
#include "bindings/python/waits.h"

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

// A process that was forked from the one that started it has its memory, but not its thread.
class PyFactory {
  public:
    explicit PyFactory(FactoryOptions options) : factory_(std::make_unique<Factory>(std::move(options))) {}
    ~PyFactory() {
        stop();
        if (process_ != ::getpid()) static_cast<void>(factory_.release());
    }

    // Its lines may be for a function of Python.
    void start() {
        without_lock([this] {
            factory_->start();
            return true;
        });
    }
    void stop() {
        if (process_ != ::getpid()) return;
        without_lock([this] {
            factory_->stop();
            return true;
        });
    }
    bool running() const { return process_ == ::getpid() && factory_->running(); }
    bool set(const FactorySettings& settings) {
        return without_lock([&] { return factory_->set(settings); });
    }
    std::optional<FactoryReport> report() const { return factory_->report(); }

  private:
    const int process_ = ::getpid();
    std::unique_ptr<Factory> factory_;
};

std::unique_ptr<PyFactory> make_factory(FactoryOptions options, PyQueue* queue) {
    if (queue != nullptr) options.manager = &queue->serving();
    return std::make_unique<PyFactory>(std::move(options));
}

void set_say(FactoryOptions& options, py::function say) {
    options.say = [say = Callback(std::move(say))](const std::string& line) { say.print_line(line); };
}

template <std::string FactoryOptions::*option>
void bind_option(py::class_<FactoryOptions>& options, const char* name) {
    options.def_property(
        name, [](const FactoryOptions& o) { return to_str(o.*option); },
        [](FactoryOptions& o, const Text& value) { o.*option = value; });
}

// Sets it by its name on the command line.
void specify(FactoryOptions& options, bool running, const std::string& name, const Text& value) {
    if (const Status done = api::specify(options, running, name, value); !done)
        throw py::value_error(done.error().message);
}

void bind_options(py::module_& module) {
    module.def("factory_setting_names", api::setting_names);
    module.def("factory_option_names", api::option_names);
    module.def("factory_why_refused", api::why_refused);
    py::class_<FactorySettings>(module, "FactorySettings")
        .def(py::init<>())
        .def_readwrite("min_workers", &FactorySettings::min_workers)
        .def_readwrite("max_workers", &FactorySettings::max_workers)
        .def_readwrite("workers_per_cycle", &FactorySettings::workers_per_cycle)
        .def_readwrite("tasks_per_worker", &FactorySettings::tasks_per_worker)
        .def_readwrite("capacity", &FactorySettings::capacity)
        .def_readwrite("timeout", &FactorySettings::timeout)
        .def_readwrite("factory_timeout", &FactorySettings::factory_timeout)
        .def_readwrite("cores", &FactorySettings::cores)
        .def_readwrite("memory", &FactorySettings::memory)
        .def_readwrite("disk", &FactorySettings::disk)
        .def_readwrite("gpus", &FactorySettings::gpus)
        .def_readwrite("autosize", &FactorySettings::autosize)
        .def_readwrite("worker_extra_options", &FactorySettings::worker_extra_options)
        .def_readwrite("condor_requirements", &FactorySettings::condor_requirements);
    py::class_<FactoryOptions> options(module, "FactoryOptions");
    options.def(py::init<>())
        .def_readwrite("manager_port", &FactoryOptions::manager_port)
        .def_readwrite("settings", &FactoryOptions::settings)
        .def_readwrite("ssl", &FactoryOptions::ssl)
        .def_readwrite("options", &FactoryOptions::options)
        .def("_specify", specify)
        .def("_say", set_say);
    bind_option<&FactoryOptions::batch_type>(options, "batch_type");
    bind_option<&FactoryOptions::manager_name>(options, "manager_name");
    bind_option<&FactoryOptions::manager_host>(options, "manager_host");
    bind_option<&FactoryOptions::contact_file>(options, "contact_file");
    bind_option<&FactoryOptions::password_file>(options, "password_file");
    bind_option<&FactoryOptions::ssl_ca>(options, "ssl_ca");
    bind_option<&FactoryOptions::factory_name>(options, "factory_name");
    bind_option<&FactoryOptions::scratch_dir>(options, "scratch_dir");
    bind_option<&FactoryOptions::worker_binary>(options, "worker_binary");
    bind_option<&FactoryOptions::factory_binary>(options, "factory_binary");
}

std::optional<py::dict> report_of(const PyFactory& factory) {
    const auto report = factory.report();
    if (!report) return std::nullopt;
    py::dict all;
    all["tasks_waiting"] = report->tasks_waiting;
    all["tasks_on_workers"] = report->tasks_on_workers;
    all["tasks_unfit"] = report->tasks_unfit;
    all["workers_wanted"] = report->workers_wanted;
    all["workers_connected"] = report->workers_connected;
    all["workers_starting"] = report->workers_starting;
    all["workers_pending"] = report->workers_pending;
    all["held"] = to_str(report->held);
    return all;
}

}  // namespace

void bind_factory(py::module_& module) {
    bind_options(module);
    py::class_<PyFactory>(module, "Factory")
        .def(py::init(&make_factory), py::arg("options"), py::arg("queue"), py::keep_alive<1, 3>())
        .def("start", &PyFactory::start)
        .def("stop", &PyFactory::stop)
        .def("running", &PyFactory::running)
        .def("set", &PyFactory::set)
        .def("report", report_of);
}

}  // namespace wq::bindings::python
