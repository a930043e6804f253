#include "net/frames/frame_stream.h"

#include <algorithm>

#include "base/units.h"

namespace wq::net::frames {

namespace {

// A frame's buffer has at least this size, and at most this multiple of the received bytes: less than a
// quarter of a file part is copied as it grows.
constexpr std::size_t first_piece = 64u << 10;
constexpr std::size_t growth = 4;

}  // namespace

std::array<char, kFrameHeadBytes> frame_head(std::size_t bytes) {
    return {static_cast<char>(bytes >> 24 & 0xff), static_cast<char>(bytes >> 16 & 0xff),
            static_cast<char>(bytes >> 8 & 0xff), static_cast<char>(bytes & 0xff)};
}

std::size_t FrameSplitter::announced() const {
    std::size_t bytes = 0;
    for (const char byte : head_) bytes = bytes << 8 | static_cast<unsigned char>(byte);
    return bytes;
}

bool FrameSplitter::take_head(std::string_view& bytes) {
    const std::size_t part = std::min(kFrameHeadBytes - head_bytes_, bytes.size());
    std::copy_n(bytes.data(), part, head_.begin() + static_cast<std::ptrdiff_t>(head_bytes_));
    head_bytes_ += part;
    bytes.remove_prefix(part);
    return head_bytes_ == kFrameHeadBytes;
}

void FrameSplitter::take_body(std::string_view& bytes) {
    const std::size_t missing = announced() - frame_.size();
    const std::size_t part = std::min(missing, bytes.size());
    // Memory follows received bytes, not the announced length: a peer that announces a gigabyte and sends a
    // byte costs 64 KiB.
    if (frame_.capacity() < frame_.size() + part)
        frame_.reserve(
            std::min(announced(), std::max({frame_.size() + part, growth * frame_.size(), first_piece})));
    frame_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
}

std::optional<std::string> FrameSplitter::take(std::string_view& bytes) {
    while (!too_long_ && !bytes.empty()) {
        if (head_bytes_ < kFrameHeadBytes && !take_head(bytes)) return std::nullopt;
        too_long_ = announced() > most_;
        if (too_long_) return std::nullopt;
        take_body(bytes);
        if (frame_.size() < announced()) return std::nullopt;
        head_bytes_ = 0;
        if (frame_.empty()) continue;
        return std::exchange(frame_, {});
    }
    return std::nullopt;
}

std::string guess_protocol(std::string_view head) {
    // TLS: a record's type (20 to 23) and its major version.
    if (head.size() >= 2 && head[0] >= 20 && head[0] <= 23 && head[1] == 3)
        return "it speaks TLS and this end does not";
    for (const std::string_view method : {"GET ", "HEAD", "POST", "PUT ", "OPTI", "HTTP"})
        if (head == method) return "it speaks HTTP";
    if (head == "SSH-") return "it speaks SSH";
    return "it sent no frame but " + quote_for_message(head);
}

}  // namespace wq::net::frames
