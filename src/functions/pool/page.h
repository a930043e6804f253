// What the program shares with one worker process: two rings and some words. Each new worker process gets a
// fresh one, so that nothing depends on how far a killed one had come.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "base/descriptor.h"
#include "base/result.h"
#include "functions/pool/futex.h"
#include "functions/pool/ring.h"

namespace wq::functions::pool {

using Nanos = std::int64_t;  // of the steady clock, which is one for all processes

inline Nanos nanos_now() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

// Begins each message. Of `blocks` blocks, the descriptors come by the socket, in this order; if `spilled`,
// the first one has the rest of the message.
struct JobHead {
    std::uint64_t job = 0;
    std::uint64_t session = 0;
    std::uint64_t spilled = 0;  // bytes; 0: the rest follows
    std::uint32_t blocks = 0;
    std::uint32_t attempt = 1;
};
enum class Outcome : std::uint32_t { value, error, not_run };
struct ResultHead {
    std::uint64_t job = 0;
    std::uint64_t spilled = 0;
    std::uint32_t blocks = 0;
    Outcome outcome = Outcome::value;
    Nanos begun = 0;
    Nanos processed = 0;
    Nanos queued = 0;
};
static_assert(std::is_trivially_copyable_v<JobHead> && sizeof(JobHead) <= always_fits);
static_assert(std::is_trivially_copyable_v<ResultHead> && sizeof(ResultHead) <= always_fits);

struct PageShape {
    RingShape jobs;
    RingShape results;
};

struct Page {
    PageShape shape;
    std::uint64_t seed = 0;
    std::uint64_t memory_to_keep = 0;  // see memory_room.h
    std::int32_t worker = 0;
    std::atomic<std::uint32_t> ready{0};  // the worker has begun
    std::atomic<std::uint32_t> stopping{0};
    std::atomic<std::uint64_t> session{0};  // jobs of older ones need not run
    // Who wants the doorbell rung: the collector sleeps, and wants it if a result finds the queue full, or if
    // somebody waits for one.
    alignas(64) std::atomic<std::uint32_t> collector_sleeps{0};
    std::atomic<std::uint32_t> taker_waits{0};
    Bell bell;  // the worker's: a job, room for a result, or stopping
    RingControl jobs;
    RingControl results;
};

class PageMemory {
  public:
    static Result<std::unique_ptr<PageMemory>> make(const PageShape& shape);
    static Result<std::unique_ptr<PageMemory>> map(Descriptor file);
    ~PageMemory();
    PageMemory(const PageMemory&) = delete;
    PageMemory& operator=(const PageMemory&) = delete;

    Page& page() const { return *static_cast<Page*>(base_); }
    std::byte* jobs() const { return static_cast<std::byte*>(base_) + first_ring; }
    std::byte* results() const { return jobs() + page().shape.jobs.bytes; }
    int descriptor() const { return file_.get(); }

  private:
    static constexpr std::size_t first_ring = (sizeof(Page) + 4095) / 4096 * 4096;
    PageMemory(Descriptor file, void* base, std::size_t bytes)
        : file_(std::move(file)), base_(base), bytes_(bytes) {}

    Descriptor file_;
    void* base_;
    std::size_t bytes_;
};

}  // namespace wq::functions::pool
