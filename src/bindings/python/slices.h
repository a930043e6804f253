// A SliceQueue of a Python program. A session of ranks makes one, too, from the same options.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include "bindings/python/waits.h"
#include "work_queue/slice_queue.h"

namespace wq::bindings::python {

class PySlices {
  public:
    using Queue = std::shared_ptr<SliceQueue>;
    enum class Giver : std::uint8_t { this_job, another };
    explicit PySlices(Queue queue, Giver giver = Giver::this_job)
        : joined_(giver == Giver::another), queue_(std::move(queue)) {}
    ~PySlices();
    PySlices(const PySlices&) = delete;

    // Whoever drops the last one ends it without Python's lock, because its last lines may be for a function
    // of Python. `session`: that of its ranks, which outlives it; null: none.
    static Queue share(std::unique_ptr<SliceQueue> queue, std::shared_ptr<MpiSession> session = nullptr);
    // Whether its close() or stop() has begun: nobody may begin to use it.
    static bool is_ending(const Queue& queue);

    // Throws RuntimeError: it is closed, or the parent's.
    Queue open() const;
    bool is_open() const { return queue_ != nullptr && !is_ending(queue_); }
    bool is_joined() const { return joined_; }
    // On any thread: waits end, and open() throws from now on.
    void stop();
    // Waits until all who use it have let go of it, and for the queues of other ranks and workers. No effect
    // the second time. Producers and readers must be closed before.
    void close();

    // None: the end, closed, or nothing came in time.
    std::optional<pybind11::tuple> take(double seconds);
    bool wait(double seconds);

  private:
    struct Ending {
        std::atomic<bool> begun{false};
        std::promise<void> done;
    };
    struct End {
        std::shared_ptr<Ending> ending;
        std::shared_ptr<MpiSession> session;
        void operator()(SliceQueue* last);
    };
    static Ending& ending_of(const Queue& queue) { return *std::get_deleter<End>(queue)->ending; }
    // Waits by `part(queue, limit)`, and holds the queue only meanwhile, not while a signal's handler runs.
    template <class Part>
    auto wait_while_open(double seconds, Part part) const;

    const OfThisProcess process_;
    const bool joined_;
    Queue queue_;
};

class PyProducer {
  public:
    PyProducer(const PySlices& slices, std::size_t capacity);
    ~PyProducer();
    PyProducer(const PyProducer&) = delete;

    // None: the end, or nothing came in time. `seconds` below 0: without a limit.
    std::optional<pybind11::tuple> next(double seconds);
    // On any thread; next() returns None from now on.
    void stop();
    // Ends it; a next() that waits returns first.
    void close();

  private:
    struct Claimed {
        PySlices::Queue queue;  // outlives the producer
        std::mutex mutex;       // one thread at a time reads
        std::unique_ptr<SliceProducer> producer;
    };
    const OfThisProcess process_;
    std::shared_ptr<Claimed> claimed_;  // null: closed. Read and changed with Python's lock
};

// (text, work, start, end, epoch, position), and back.
pybind11::tuple to_python(const Slice& slice);
Slice to_slice(const pybind11::tuple& slice);

void bind_slices(pybind11::module_& module);

}  // namespace wq::bindings::python
