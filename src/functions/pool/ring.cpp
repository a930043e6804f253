#include "functions/pool/ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wq::functions::pool {

namespace {

constexpr std::size_t prefix = sizeof(std::uint64_t);

constexpr std::size_t record_bytes(std::size_t message) {
    return (prefix + message + 7) / 8 * 8;
}
constexpr std::size_t reserved = record_bytes(always_fits);

}  // namespace

RingShape RingShape::of(std::size_t messages) {
    constexpr std::size_t least = 64 << 10;
    constexpr std::size_t usual = 512;
    return {static_cast<std::uint32_t>(messages),
            static_cast<std::uint32_t>(std::bit_ceil(std::max(least, messages * usual)))};
}

bool RingWriter::fits(std::size_t bytes) const {
    const std::uint64_t used = at_ - control_.taken_bytes.load(std::memory_order_acquire);
    const std::uint64_t others = std::uint64_t{shape_.messages - waiting() - 1} * reserved;
    return used + record_bytes(bytes) + others <= shape_.bytes;
}

void RingWriter::copy(std::string_view part) {
    if (part.empty()) return;
    const std::size_t start = at_ & (shape_.bytes - 1);
    const std::size_t first = std::min<std::size_t>(part.size(), shape_.bytes - start);
    std::memcpy(bytes_ + start, part.data(), first);
    if (first < part.size()) std::memcpy(bytes_, part.data() + first, part.size() - first);
    at_ += part.size();
}

void RingWriter::push(std::string_view first, std::string_view second) {
    const std::uint64_t begin = at_;
    const std::uint64_t size = first.size() + second.size();
    copy({reinterpret_cast<const char*>(&size), sizeof size});
    copy(first);
    copy(second);
    at_ = begin + record_bytes(size);
    control_.written.store(++count_, std::memory_order_seq_cst);
}

void RingReader::copy(std::uint64_t at, std::span<char> to) const {
    const std::size_t start = at & (shape_.bytes - 1);
    const std::size_t first = std::min<std::size_t>(to.size(), shape_.bytes - start);
    std::memcpy(to.data(), bytes_ + start, first);
    if (first < to.size()) std::memcpy(to.data() + first, bytes_, to.size() - first);
}

std::optional<std::string> RingReader::read() {
    std::uint64_t size = 0;
    copy(at_, {reinterpret_cast<char*>(&size), sizeof size});
    if (size > shape_.bytes - prefix) return std::nullopt;
    std::string message(size, '\0');
    copy(at_ + prefix, message);
    next_ = at_ + record_bytes(size);
    return message;
}

void RingReader::taken() {
    at_ = next_;
    control_.taken_bytes.store(at_, std::memory_order_release);
    control_.taken.store(++count_, std::memory_order_seq_cst);
}

}  // namespace wq::functions::pool
