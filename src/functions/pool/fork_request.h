// What the program asks of its zygote, and hears from it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "work_queue/job_executor.h"

namespace wq::functions::pool {

// A function, by its place in memory, which is the same in all processes that are forked from this program.
struct FunctionPlace {
    Batch (*run)(void* callable, Batch&& in, const JobContext& context) = nullptr;
    void* callable = nullptr;       // if bytes is 0
    std::uint64_t bytes = 0;        // of `copy`
    const void* library = nullptr;  // where the code was loaded, which a process forked earlier may not have
    alignas(std::max_align_t) std::array<std::byte, detail::most_callable_bytes> copy{};

    static FunctionPlace of(const detail::JobFunction& function);
    // Whether this process has the code.
    bool is_here() const;
    void* object() { return bytes > 0 ? copy.data() : callable; }
};

// The descriptors that come along: `fork` has page, socket and doorbell; `streams` has stdout and stderr.
struct Request {
    enum class Kind : std::uint32_t { fork, kill, streams } kind = Kind::fork;
    std::uint32_t lane = 0;
    std::uint64_t life = 0;  // counts the processes of all lanes
    FunctionPlace function;
};

// `zygote_lost`: it was killed, and so were all workers; another one serves.
struct News {
    enum class Kind : std::uint32_t { forked, not_forked, ended, zygote_lost } kind = Kind::forked;
    std::uint32_t lane = 0;
    std::uint64_t life = 0;
    pid_t pid = 0;
    int value = 0;  // not_forked: errno; ended: status as of wait()
};

}  // namespace wq::functions::pool
