// The amounts of four resources, as categories use them. Units, here and in all category code: cores and GPUs
// in thousandths (1500 is one and a half), memory and disk in MB of 2^20 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/amounts.h"

namespace wq::engine::model {

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
