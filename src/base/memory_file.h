// Bytes in memory that other processes of this user on this host can map by a path, while this process has
// it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace wq {

struct Unmap {
    std::size_t bytes = 0;
    void operator()(char* mapped) const;
};

class MemoryFile {
  public:
    // A copy of these parts. nullopt: there is no memory for it, or no descriptor below this one.
    static std::optional<MemoryFile> with(std::span<const std::string_view> parts,
                                          int descriptor_below = std::numeric_limits<int>::max());
    // Holds these parts instead: without new pages, so several times as fast. False: it has another size, or
    // another process still has it open or mapped; then nothing has changed.
    bool refill(std::span<const std::string_view> parts);
    bool is_for(std::uint64_t size) const { return size <= capacity_ && size >= capacity_ / 2; }

    std::uint64_t size() const { return size_; }
    std::uint64_t capacity() const { return capacity_; }
    // Not valid in another PID namespace, nor for a process that may not read our memory.
    std::string path() const;
    // The last 8 bytes behind that path: if they differ, it is another memory, or has been refilled.
    std::uint64_t serial() const { return serial_; }
    std::string copy() const;

  private:
    MemoryFile(Descriptor file, std::uint64_t size, std::uint64_t serial)
        : file_(std::move(file)), capacity_(size), size_(size), serial_(serial) {}
    bool map();
    bool take_from_others(std::uint64_t serial);

    Descriptor file_;
    std::uint64_t capacity_;
    std::uint64_t size_;
    std::uint64_t serial_;
    std::unique_ptr<char, Unmap> mapped_;  // once it was refilled
};

}  // namespace wq
