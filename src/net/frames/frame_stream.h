// Frames on a byte stream: a 32-bit big-endian length, then that many bytes. Length 0 is a keep-alive, which
// callers do not see.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wq::net::frames {

inline constexpr std::size_t kFrameHeadBytes = 4;

std::array<char, kFrameHeadBytes> frame_head(std::size_t bytes);

class FrameSplitter {
  public:
    explicit FrameSplitter(std::size_t most_bytes) : most_(most_bytes) {}

    void allow(std::size_t most_bytes) { most_ = most_bytes; }

    // Consumes the front of `bytes` up to the end of a frame, if it is there. If it returns nothing and
    // leaves bytes, the length exceeds the limit; this state is permanent.
    std::optional<std::string> take(std::string_view& bytes);

    bool too_long() const { return too_long_; }
    bool in_frame() const { return head_bytes_ > 0; }  // a part has arrived
    // The first bytes of a frame that is too long: they identify other protocols.
    std::string_view head() const { return {head_.data(), head_bytes_}; }
    std::size_t announced() const;
    std::size_t most() const { return most_; }
    std::size_t received() const { return frame_.size(); }  // bytes of the current frame
    std::size_t held() const { return frame_.capacity(); }  // bytes of memory for it

  private:
    bool take_head(std::string_view& bytes);
    void take_body(std::string_view& bytes);

    std::size_t most_;
    std::array<char, kFrameHeadBytes> head_{};
    std::size_t head_bytes_ = 0;
    std::string frame_;
    bool too_long_ = false;
};

// The protocol that the peer seems to speak, if its first four bytes are no valid length.
std::string guess_protocol(std::string_view head);

}  // namespace wq::net::frames
