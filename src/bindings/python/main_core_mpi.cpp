// The module work_queue._core_mpi: the same as _core, and the ranks of MPI jobs.
#include "bindings/python/module.h"

namespace wq::bindings::python {

void bind_ranks(pybind11::module_& module);

}  // namespace wq::bindings::python

PYBIND11_MODULE(_core_mpi, module) {
    wq::bindings::python::bind_all(module, WQ_VERSION);
    wq::bindings::python::bind_ranks(module);
}
