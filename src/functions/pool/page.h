// A bell in shared memory: one process or thread sleeps until another rings. Ringing costs a system call only
// while somebody sleeps.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/descriptor.h"
#include "base/result.h"

namespace wq::functions::pool {

// A queue of messages in shared memory between one writer and one reader in two processes. It holds a fixed
// number of messages: those too large for its bytes travel as blocks, so that it is the number alone that
// decides.
//
// A message is published by one store, of the number written, and taken by one store, of the number taken. So
// when a process is killed at any moment, the other one knows what it has done.
struct RingControl {
    alignas(64) std::atomic<std::uint32_t> written{0};
    alignas(64) std::atomic<std::uint32_t> taken{0};
    std::atomic<std::uint64_t> taken_bytes{0};
};

struct RingShape {
    std::uint32_t messages = 0;
    std::uint32_t bytes = 0;  // a power of two
    // With room for messages of some hundred bytes.
    static RingShape of(std::size_t messages);
};

// A message always fits if it has at most so many bytes.
inline constexpr std::size_t always_fits = 120;

class RingWriter {
  public:
    RingWriter(RingControl& control, std::byte* bytes, RingShape shape)
        : control_(control), bytes_(bytes), shape_(shape) {}

    // At most shape.messages; more: the reader has damaged the ring.
    std::uint32_t waiting() const { return count_ - control_.taken.load(std::memory_order_seq_cst); }
    // Whether push() may be called with so many bytes, if waiting() < shape.messages.
    bool fits(std::size_t bytes) const;
    // `parts` are put together.
    void push(std::string_view first, std::string_view second);

  private:
    void copy(std::string_view part);

    RingControl& control_;
    std::byte* bytes_;
    RingShape shape_;
    std::uint32_t count_ = 0;
    std::uint64_t at_ = 0;
};

class RingReader {
  public:
    RingReader(RingControl& control, const std::byte* bytes, RingShape shape)
        : control_(control), bytes_(bytes), shape_(shape) {}

    bool empty() const { return control_.written.load(std::memory_order_seq_cst) == count_; }
    // More than shape.messages: the writer has damaged the ring.
    std::uint32_t waiting() const { return control_.written.load(std::memory_order_acquire) - count_; }
    // The next message, which stays in the ring until taken(). nullopt: it is damaged.
    std::optional<std::string> read();
    void taken();

  private:
    void copy(std::uint64_t at, std::span<char> to) const;

    RingControl& control_;
    const std::byte* bytes_;
    RingShape shape_;
    std::uint32_t count_ = 0;
    std::uint64_t at_ = 0;
    std::uint64_t next_ = 0;
};

// Waits for a few microseconds by giving others the core. One of them is mostly what we wait for: then this
// costs a switch, instead of two system calls and an interrupt on each side. But if another program has the
// core then, we are better off asleep, since the kernel runs sleepers first: so a while without yields
// follows.
class Yields {
  public:
    template <class Ready>
    bool until(Ready&& ready) {
        const int skips = skips_.load(std::memory_order_relaxed);
        if (skips > 0) {
            skips_.store(skips - 1, std::memory_order_relaxed);
            return false;
        }
        using Clock = std::chrono::steady_clock;
        Clock::time_point before = Clock::now();
        for (int turn = 0; turn < most_turns; ++turn) {
            sched_yield();
            if (ready()) return true;
            const Clock::time_point now = Clock::now();
            if (now - before > longest_turn) {
                skips_.store(most_skips, std::memory_order_relaxed);
                return false;
            }
            before = now;
        }
        return false;
    }

  private:
    static constexpr int most_turns = 10;
    static constexpr int most_skips = 100;
    static constexpr std::chrono::microseconds longest_turn{100};
    std::atomic<int> skips_{0};
};

class Bell {
  public:
    // Call after the change that the sleeper waits for, which must be a sequentially consistent store.
    void ring() {
        if (sleeps_.load(std::memory_order_seq_cst) == 0) return;
        rings_.fetch_add(1, std::memory_order_seq_cst);
        syscall(SYS_futex, word(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }

    // Sleeps until `ready()`, which loads what the others store sequentially consistently, too. One sleeper
    // at a time.
    template <class Ready>
    void wait(Ready&& ready, Yields& yields) {
        for (int turn = 0; turn < spins; ++turn)
            if (ready()) return;
        if (yields.until(ready)) return;
        for (;;) {
            const std::uint32_t seen = rings_.load(std::memory_order_seq_cst);
            sleeps_.store(1, std::memory_order_seq_cst);
            const bool is_ready = ready();
            if (!is_ready) syscall(SYS_futex, word(), FUTEX_WAIT, seen, nullptr, nullptr, 0);
            sleeps_.store(0, std::memory_order_seq_cst);
            if (is_ready || ready()) return;
        }
    }

  private:
    static constexpr int spins = 50;
    std::uint32_t* word() { return reinterpret_cast<std::uint32_t*>(&rings_); }

    alignas(64) std::atomic<std::uint32_t> rings_{0};
    std::atomic<std::uint32_t> sleeps_{0};
};

// What the program shares with one worker process: two rings and some words. Each new worker process gets a
// fresh one, so that nothing depends on how far a killed one had come.

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
    std::uint64_t memory_to_keep = 0;  // see storage.h
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

// Files of memory that processes share by their descriptors. They have no name.

// Of `bytes` bytes, which are all there: no access ends in SIGBUS. Not valid: errno says why.
Descriptor make_shared_file(const char* name, std::size_t bytes);

// `allocate(from, bytes)` gives an errno, or 0. In Linux 6.1 and others a signal that comes during
// fallocate() undoes all that the call has allocated. So each call allocates a part, and a smaller one after
// a signal: a profiler's timer may be faster than 8 MB (2 ms). Returns the first other errno, or 0.
template <class Allocate>
int in_steps(std::size_t bytes, Allocate&& allocate) {
    constexpr std::size_t usual = std::size_t{8} << 20;
    constexpr std::size_t least = 4096;
    std::size_t step = usual;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t part = std::min(step, bytes - done);
        const int error = allocate(done, part);
        if (error == 0)
            done += part;
        else if (error == EINTR)
            step = std::max(step / 2, least);
        else
            return error;
    }
    return 0;
}

}  // namespace wq::functions::pool
