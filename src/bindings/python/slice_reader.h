// Memory of the engine as Python sees it: an object with the buffer protocol, of which numpy makes arrays
// without a copy.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "bindings/python/slices.h"
#include "work_queue/slice_readers.h"

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

// Reads the records of slices for a Python program.
class PyReader {
  public:
    PyReader(std::string kind, std::uint64_t record_bytes);
    void open(const PySlices& slices, const Slice& slice);
    // (prefix of the keys, number of the first, how many, values); no values: the end of the slice, or its
    // queue is closed. Values are a list of str or bytes, or Memory.
    pybind11::tuple read(std::size_t most, bool as_text);
    // Lets go of a queue that ends.
    void leave();
    std::uint64_t produced() const { return produced_; }
    std::string row_type() const { return row_type_; }

  private:
    // One that an interrupted wait has left goes on, on a thread: its records, or what it threw, are for the
    // next call.
    struct Reading {
        std::mutex mutex;
        PySlices::Queue queue;  // outlives what the reader reads of it
        std::unique_ptr<SliceReader> reader;
        std::optional<Records> records;
        std::size_t given = 0;  // of these
        std::exception_ptr wrong;
        std::atomic<bool> may_wait{false};  // for the process that has the works
    };
    std::unique_ptr<SliceReader> make() const;
    template <class Work>
    void run(Work work, bool may_wait) const;
    pybind11::tuple give(Reading& reading, std::size_t most, bool as_text);

    const OfThisProcess process_;
    const std::string kind_;
    const std::uint64_t record_bytes_;
    const std::shared_ptr<Reading> reading_ = std::make_shared<Reading>();
    // Read and changed with Python's lock.
    std::uint64_t produced_ = 0;
    std::string row_type_;
};

void bind_slice_reader(pybind11::module_& module);

}  // namespace wq::bindings::python
