// The module work_queue._core_mpi: the same as _core, and the ranks of MPI jobs.
#include "bindings/python/module.h"

namespace wq::python {

void bind_ranks(pybind11::module_& module);

}  // namespace wq::python

PYBIND11_MODULE(_core_mpi, module) {
    wq::python::bind_all(module, WQ_VERSION);
    wq::python::bind_ranks(module);
}
