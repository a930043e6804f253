// A task of a Python program: its settings, and its results once it has ended.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "work_queue/task.h"

namespace wq::bindings::python {

struct PyTask {
    explicit PyTask(Task specified) : spec(std::move(specified)) {}

    Task spec;                  // what is submitted
    std::string call_name;      // of a call: what its command was before, the name of the function
    std::optional<Task> ended;  // as wait() or a cancelling function returned it
    std::int64_t id = 0;        // in its queue, or the last one
    bool in_queue = false;

    // Throws RuntimeError's exception if a queue has it.
    Task& to_specify();
    const Task& results() const { return ended ? *ended : spec; }
};

void bind_task(pybind11::module_& module);

}  // namespace wq::bindings::python
