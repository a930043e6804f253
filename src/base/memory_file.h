// Bytes in memory that other processes of this user on this host can map by a path, while this process holds
// it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"

namespace wq {

class MemoryFile {
  public:
    // A copy of these parts that nobody can change. nullopt: there is no memory for it, or no descriptor
    // below this one.
    static std::optional<MemoryFile> with(std::span<const std::string_view> parts,
                                          int descriptor_below = std::numeric_limits<int>::max());

    std::uint64_t size() const { return size_; }
    // Not valid in another PID namespace, nor for a process that may not read our memory.
    std::string path() const;
    // Distinguishes it from a later memory with the same path.
    std::uint64_t serial() const { return serial_; }
    std::string copy() const;

  private:
    MemoryFile(Descriptor file, std::uint64_t size, std::uint64_t serial)
        : file_(std::move(file)), size_(size), serial_(serial) {}

    Descriptor file_;
    std::uint64_t size_;
    std::uint64_t serial_;
};

}  // namespace wq
