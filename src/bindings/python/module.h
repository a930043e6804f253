// What both modules of the package have.
#pragma once

#include <pybind11/pybind11.h>

namespace wq::bindings::python {

void bind_all(pybind11::module_& module, const char* version);

}  // namespace wq::bindings::python
