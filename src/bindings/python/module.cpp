#include "bindings/python/module.h"

#include "bindings/python/py_task.h"
#include "bindings/python/queue.h"
#include "bindings/python/slice_reader.h"
#include "bindings/python/text.h"
#include "engine/model/manager_stats.h"
#include "work_queue/error.h"
#include "work_queue/statistics.h"

namespace py = pybind11;

namespace wq::bindings::python {

void bind_factory(py::module_& module);
void bind_slices(py::module_& module);
void bind_jobs(py::module_& module);

void bind_all(py::module_& module, const char* version) {
    module.doc() = "The engine behind work_queue. Use that package instead.";
    module.attr("version") = version;
    module.attr("_pybind11") =
        PYBIND11_TOSTRING(PYBIND11_VERSION_MAJOR) "." PYBIND11_TOSTRING(PYBIND11_VERSION_MINOR);
    py::register_exception<SetupError>(module, "SetupError", PyExc_RuntimeError);
    // The signature of a function names only types that are bound before it.
    bind_queue(module);
    bind_task(module);
    bind_statistics(module);
    bind_factory(module);
    bind_memory(module);
    bind_slices(module);
    bind_jobs(module);
}

// Statistics of a queue, with all names of the manual.
void bind_statistics(py::module_& module) {
    py::class_<Statistics> all(module, "Statistics");
    all.def_readonly("time_when_started", &Statistics::time_when_started);
#define WQ_FIGURE(type, name, ...) all.def_readonly(#name, &Statistics::name);
    WQ_MANAGER_STATS(WQ_FIGURE)
    WQ_OWN_STATS(WQ_FIGURE)
    WQ_GPU_STATS(WQ_FIGURE)
    WQ_MANAGER_ALIASES(WQ_FIGURE)
#undef WQ_FIGURE
    all.def(py::init<>())
        .def("_update", [](Statistics& to, PyQueue& q) { to = q.serving().stats(); })
        .def("_update_category",
             [](Statistics& to, PyQueue& q, const Text& name) { to = q.serving().stats_category(name); });
    py::dict old_names;
#define WQ_OLD_NAME(name, of) old_names[#name] = #of;
    WQ_OLD_STATS(WQ_OLD_NAME)
#undef WQ_OLD_NAME
    module.attr("old_statistics") = old_names;
}

}  // namespace wq::bindings::python
