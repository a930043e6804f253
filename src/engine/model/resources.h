// What a task needs and what a worker has, in the units of Work Queue: cores and GPUs as counts (fractions
// are our extension), memory and disk in MB of 2^20 bytes; and coprocesses as a count.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/count.h"

namespace wq::engine::model {

struct Resources {
    Count cores;
    std::int64_t memory_mb = 0;
    std::int64_t disk_mb = 0;
    Count gpus;
    // Processes with functions that run remote tasks (see coprocess/). Their cores and memory are not part of
    // the amounts above: a remote task takes one coprocess and nothing else.
    std::int64_t coprocesses = 0;

    auto operator<=>(const Resources&) const = default;
    Resources& operator+=(const Resources& other) {
        cores += other.cores, memory_mb += other.memory_mb, disk_mb += other.disk_mb, gpus += other.gpus;
        coprocesses += other.coprocesses;
        return *this;
    }
    Resources& operator-=(const Resources& other) {
        cores -= other.cores, memory_mb -= other.memory_mb, disk_mb -= other.disk_mb, gpus -= other.gpus;
        coprocesses -= other.coprocesses;
        return *this;
    }
    // Whether `this` fits into `free`; a resource that `this` does not use may be overcommitted in `free`.
    bool fits_in(const Resources& free) const {
        const auto is_there = [](const auto& part, const auto& all) { return part <= 0 || part <= all; };
        return is_there(cores, free.cores) && is_there(memory_mb, free.memory_mb) &&
               is_there(disk_mb, free.disk_mb) && is_there(gpus, free.gpus) &&
               is_there(coprocesses, free.coprocesses);
    }
};

// A task's request; -1: unspecified. 0 cores means that it holds no core (for tasks that only wait); for the
// other resources 0 means unspecified, as in Work Queue.
struct Needs {
    Count cores = -1;
    std::int64_t memory_mb = -1;
    std::int64_t disk_mb = -1;
    Count gpus = -1;
    // 1: a remote task. It gets one coprocess and nothing else, whatever it asks for besides.
    std::int64_t coprocesses = 0;
    auto operator<=>(const Needs&) const = default;

    bool remote() const { return coprocesses > 0; }
    bool weightless() const { return remote() || (cores == 0 && gpus <= 0); }
};

// The most coprocesses of one worker.
inline constexpr std::int64_t most_coprocesses = 1024;

// How many tasks without core and GPU (`cores=0`, tasks that only wait) a worker runs at once.
inline std::int64_t most_weightless(const Resources& whole) {
    return 64 * std::max<std::int64_t>(whole.cores.rounded_up(), 1);
}

// How many tasks with `share` each an idle worker runs at once.
std::int64_t how_many_fit(const Resources& share, const Resources& whole);

// "2 cores, 4.0 GiB memory, 1 GPU": for messages.
std::string describe(const Resources& resources);
std::string describe(const Needs& needs);

}  // namespace wq::engine::model
