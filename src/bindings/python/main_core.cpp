// The module work_queue._core.
#include "bindings/python/module.h"

PYBIND11_MODULE(_core, module) {
    wq::bindings::python::bind_all(module, WQ_VERSION);
}
