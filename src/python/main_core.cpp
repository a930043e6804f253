// The module work_queue._core: the engine as Python's part of the package uses it.
#include <pybind11/pybind11.h>

#include "python/memory_view.h"
#include "python/queue.h"
#include "python/task.h"
#include "work_queue/error.h"

namespace py = pybind11;

namespace wq::python {

void bind_factory(py::module_& module);
void bind_slices(py::module_& module);
void bind_jobs(py::module_& module);

}  // namespace wq::python

PYBIND11_MODULE(_core, module) {
    module.doc() = "The engine behind work_queue. Use that package instead.";
    module.attr("version") = WQ_VERSION;
    py::register_exception<wq::SetupError>(module, "SetupError", PyExc_RuntimeError);
    wq::python::bind_task(module);
    wq::python::bind_queue(module);
    wq::python::bind_statistics(module);
    wq::python::bind_factory(module);
    wq::python::bind_memory(module);
    wq::python::bind_slices(module);
    wq::python::bind_jobs(module);
}
