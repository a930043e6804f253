// A queue of messages in shared memory between one writer and one reader in two processes. It holds a fixed
// number of messages: those too large for its bytes travel as blocks, so that it is the number alone that
// decides.
//
// A message is published by one store, of the number written, and taken by one store, of the number taken. So
// when a process is killed at any moment, the other one knows what it has done.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wq::functions::pool {

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

}  // namespace wq::functions::pool
