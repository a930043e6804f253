// What a task needs and what a worker has, in the units of Work Queue: cores and GPUs as counts, memory and
// disk in MB of 2^20 bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace wq::core {

struct Resources {
    std::int64_t cores = 0;
    std::int64_t memory_mb = 0;
    std::int64_t disk_mb = 0;
    std::int64_t gpus = 0;

    auto operator<=>(const Resources&) const = default;
    Resources& operator+=(const Resources& other) {
        cores += other.cores, memory_mb += other.memory_mb, disk_mb += other.disk_mb, gpus += other.gpus;
        return *this;
    }
    Resources& operator-=(const Resources& other) {
        cores -= other.cores, memory_mb -= other.memory_mb, disk_mb -= other.disk_mb, gpus -= other.gpus;
        return *this;
    }
    // Whether `this` can be carved out of `free`.
    bool fits_in(const Resources& free) const {
        return cores <= free.cores && memory_mb <= free.memory_mb && disk_mb <= free.disk_mb &&
               gpus <= free.gpus;
    }
};

// No machine has more cores, or GPUs: what says so is refused.
inline constexpr std::int64_t most_cores = 100'000;

// What a task line asks for; -1: it does not say.
struct Needs {
    std::int64_t cores = -1;
    std::int64_t memory_mb = -1;
    std::int64_t disk_mb = -1;
    std::int64_t gpus = -1;
    auto operator<=>(const Needs&) const = default;
};

// The share of a worker with `whole` resources that a task with `needs` is given: what it says; else 1 core
// (0 when it asks for GPUs only), no GPU, no disk, and memory in proportion to its cores, rounded down.
// Integer arithmetic throughout: n tasks of 1/n fill the worker for every n.
Resources allocate(const Needs& needs, const Resources& whole);

// How many tasks that hold neither a core nor a GPU (`cores=0`, for those that only wait) a worker runs at
// once.
inline std::int64_t most_weightless(const Resources& whole) {
    return 64 * (whole.cores > 0 ? whole.cores : 1);
}

// "2 cores, 4.0 GiB memory, 1 GPU": for messages.
std::string describe(const Resources& resources);
std::string describe(const Needs& needs);

}  // namespace wq::core
