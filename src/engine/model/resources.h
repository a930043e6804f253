// What a task needs and what a worker has, in the units of Work Queue: cores and GPUs as counts (fractions
// are our extension), memory and disk in MB of 2^20 bytes; and coprocesses as a count.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/units.h"

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

// The amounts of four resources, as categories use them. Units, here and in all category code: cores and GPUs
// in thousandths (1500 is one and a half), memory and disk in MB of 2^20 bytes.
enum class ResourceKind : std::uint8_t { cores, memory, disk, gpus };
inline constexpr std::array<ResourceKind, 4> resource_kinds{ResourceKind::cores, ResourceKind::memory,
                                                            ResourceKind::disk, ResourceKind::gpus};

template <class T>
struct PerResource {
    std::array<T, resource_kinds.size()> values{};

    T& at(ResourceKind kind) { return values[static_cast<std::size_t>(kind)]; }
    const T& at(ResourceKind kind) const { return values[static_cast<std::size_t>(kind)]; }
    bool operator==(const PerResource&) const = default;
};

// Upper bound of any amount: larger requests are refused, larger measurements are lowered.
inline constexpr std::int64_t most_size = most_mb;

// Unspecified or not measured; so is every other negative amount from outside.
inline constexpr std::int64_t unsaid = -1;
// Instead of an amount: everything that the worker has.
inline constexpr std::int64_t whole_worker = -2;

struct Sizes {
    std::int64_t cores = unsaid;
    std::int64_t memory_mb = unsaid;
    std::int64_t disk_mb = unsaid;
    std::int64_t gpus = unsaid;

    std::int64_t& at(ResourceKind kind) { return this->*field(kind); }
    std::int64_t at(ResourceKind kind) const { return this->*field(kind); }
    bool operator==(const Sizes&) const = default;

  private:
    static std::int64_t Sizes::*field(ResourceKind kind) {
        constexpr std::array fields{&Sizes::cores, &Sizes::memory_mb, &Sizes::disk_mb, &Sizes::gpus};
        return fields[static_cast<std::size_t>(kind)];
    }
};

}  // namespace wq::engine::model
