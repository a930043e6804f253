// Reads the records of slices for a Python program.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bindings/python/slices.h"
#include "work_queue/slice_readers.h"

namespace wq::bindings::python {

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
