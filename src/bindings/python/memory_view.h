// Memory of the engine as Python sees it: an object with the buffer protocol, of which numpy makes arrays
// without a copy.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace wq::bindings::python {

struct Memory {
    std::shared_ptr<const void> owner;  // the bytes stay while it lives
    void* data = nullptr;
    std::size_t bytes = 0;
    bool writable = true;
};

inline void bind_memory(pybind11::module_& module) {
    namespace py = pybind11;
    py::class_<Memory>(module, "Memory", py::buffer_protocol())
        .def_buffer([](Memory& memory) {
            static char nothing = 0;
            return py::buffer_info(memory.data == nullptr ? &nothing : memory.data, 1,
                                   py::format_descriptor<unsigned char>::format(), 1,
                                   {static_cast<py::ssize_t>(memory.bytes)}, {py::ssize_t{1}},
                                   !memory.writable);
        })
        .def("__len__", [](const Memory& memory) { return memory.bytes; });
}

}  // namespace wq::bindings::python
