#include "bindings/python/module.h"

#include "bindings/python/queue.h"
#include "bindings/python/slice_reader.h"
#include "bindings/python/task.h"
#include "work_queue/error.h"

namespace py = pybind11;

namespace wq::bindings::python {

void bind_factory(py::module_& module);
void bind_slices(py::module_& module);
void bind_jobs(py::module_& module);

void bind_all(py::module_& module, const char* version) {
    module.doc() = "The engine behind work_queue. Use that package instead.";
    module.attr("version") = version;
    py::register_exception<SetupError>(module, "SetupError", PyExc_RuntimeError);
    bind_task(module);
    bind_queue(module);
    bind_statistics(module);
    bind_factory(module);
    bind_memory(module);
    bind_slices(module);
    bind_jobs(module);
}

}  // namespace wq::bindings::python
