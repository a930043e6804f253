// Amounts of resources between Python and the manager.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "api/amounts.h"
#include "work_queue/task.h"

namespace wq::bindings::python {

// (cores, memory, disk, gpus), -1: not specified. Throws ValueError for what no machine has.
inline TaskResources resources_of(const pybind11::tuple& amounts) {
    TaskResources said;
    said.cores = amounts[0].cast<double>();
    said.memory = amounts[1].cast<std::int64_t>();
    said.disk = amounts[2].cast<std::int64_t>();
    said.gpus = amounts[3].cast<double>();
    if (const Status sound = api::check_amounts(said); !sound)
        throw pybind11::value_error(sound.error().message);
    return said;
}

}  // namespace wq::bindings::python
