// A SliceQueue of a Python program. A session of ranks makes one, too, from the same options.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "python/waits.h"
#include "work_queue/slice_readers.h"

namespace wq::python {

class PySlices {
  public:
    using Queue = std::shared_ptr<SliceQueue>;
    explicit PySlices(Queue queue) : queue_(std::move(queue)) {}
    ~PySlices();
    PySlices(const PySlices&) = delete;

    // Whoever drops the last one ends it without Python's lock: its last lines may be for a function of
    // Python. `session`: that of its ranks, which outlives it; null: none.
    static Queue share(std::unique_ptr<SliceQueue> queue, std::shared_ptr<MpiSession> session = nullptr);

    // Throws RuntimeError: it is closed, or the parent's.
    Queue open() const;
    bool is_open() const { return queue_ != nullptr; }
    // Waits for the queues of other ranks and workers. No effect the second time.
    void close();

    // None: the end, or nothing came in time.
    pybind11::object take(double seconds);
    bool wait(double seconds);

  private:
    const OfThisProcess process_;
    Queue queue_;
};

class PyProducer {
  public:
    PyProducer(const PySlices& slices, std::size_t capacity);
    ~PyProducer();
    PyProducer(const PyProducer&) = delete;

    // None: the end, or nothing came in time. `seconds` below 0: without a limit.
    pybind11::object next(double seconds);
    // On any thread; next() returns None from now on.
    void stop();
    // Ends it; a next() that waits returns first.
    void close();
    PySlices::Queue queue() const { return queue_; }

  private:
    const OfThisProcess process_;
    PySlices::Queue queue_;
    std::mutex mutex_;  // one thread at a time reads
    std::unique_ptr<SliceProducer> producer_;
};

class PyReader {
  public:
    PyReader(const std::string& kind, std::uint64_t record_bytes);
    void open(const PySlices::Queue& queue, const Slice& slice);
    // (prefix of the keys, number of the first, how many, values); no values: the end of the slice. Values
    // are a list of str or bytes, or Memory.
    pybind11::tuple read(std::size_t most, bool as_text);
    std::uint64_t produced() const { return reader_->num_records_produced(); }
    std::string row_type() const { return reader_->row_type(); }

  private:
    pybind11::object values_of(const RecordValues& values, bool as_text);

    std::mutex mutex_;
    PySlices::Queue queue_;  // outlives what the reader reads of it
    std::unique_ptr<SliceReader> reader_;
};

// (text, work, start, end, epoch, position), and back.
pybind11::tuple to_python(const Slice& slice);
Slice to_slice(const pybind11::tuple& slice);

void bind_slices(pybind11::module_& module);

}  // namespace wq::python
