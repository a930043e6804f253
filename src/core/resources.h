// What a task needs and what a worker has, in the units of Work Queue: cores and GPUs as counts (with
// fractions, which it does not have), memory and disk in MB of 2^20 bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/count.h"

namespace wq::core {

struct Resources {
    Count cores;
    std::int64_t memory_mb = 0;
    std::int64_t disk_mb = 0;
    Count gpus;

    auto operator<=>(const Resources&) const = default;
    Resources& operator+=(const Resources& other) {
        cores += other.cores, memory_mb += other.memory_mb, disk_mb += other.disk_mb, gpus += other.gpus;
        return *this;
    }
    Resources& operator-=(const Resources& other) {
        cores -= other.cores, memory_mb -= other.memory_mb, disk_mb -= other.disk_mb, gpus -= other.gpus;
        return *this;
    }
    // Whether `this` can be carved out of `free`; of what it has nothing of, `free` may be short.
    bool fits_in(const Resources& free) const {
        const auto is_there = [](const auto& part, const auto& all) { return part <= 0 || part <= all; };
        return is_there(cores, free.cores) && is_there(memory_mb, free.memory_mb) &&
               is_there(disk_mb, free.disk_mb) && is_there(gpus, free.gpus);
    }
};

// What a task asks for; -1: it does not say. Cores of 0 hold no core (for tasks that only wait); of the
// others 0 says nothing, as in Work Queue.
struct Needs {
    Count cores = -1;
    std::int64_t memory_mb = -1;
    std::int64_t disk_mb = -1;
    Count gpus = -1;
    auto operator<=>(const Needs&) const = default;

    bool weightless() const { return cores == 0 && gpus <= 0; }
};

// How many tasks that hold neither a core nor a GPU (`cores=0`, for those that only wait) a worker runs at
// once.
inline std::int64_t most_weightless(const Resources& whole) {
    return 64 * std::max<std::int64_t>(whole.cores.rounded_up(), 1);
}

// How many tasks that are given `share` each an idle worker runs at once.
std::int64_t how_many_fit(const Resources& share, const Resources& whole);

// "2 cores, 4.0 GiB memory, 1 GPU": for messages.
std::string describe(const Resources& resources);
std::string describe(const Needs& needs);

}  // namespace wq::core
