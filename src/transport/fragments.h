// Frames cut into fragments and put together again. Fragments stay below 4096 bytes: with Open MPI a longer
// message is announced first and fetched later, so that a sender killed in between leaves a receive that
// never completes.
//
// A fragment is a 32-bit number, counting from 0 per sender and receiver, and a piece of the stream; the
// stream is each frame's 32-bit length and its bytes. Numbers make the order of completed receives
// immaterial. Both ends of a job are the same program on the same kind of machine: numbers travel in its byte
// order.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wq::transport {

inline constexpr std::size_t kFragmentBytes = 3968;
inline constexpr std::size_t kMostFrameBytes = std::size_t{1} << 31;

// The sender's end. Small frames share fragments.
class FrameCutter {
  public:
    void add(std::string frame);
    bool empty() const { return frames_.empty(); }

    // Fills `out` (of kFragmentBytes) and returns the bytes used. Call only when not empty.
    std::size_t cut(char* out);

  private:
    std::deque<std::string> frames_;
    std::size_t done_ = 0;  // bytes of the first frame that have left, its length field included
    std::uint32_t next_number_ = 0;
};

// The receiver's end.
class FrameAssembler {
  public:
    // Takes a fragment and appends the frames that it completes. False when the bytes make no sense.
    bool take(std::string_view fragment, std::vector<std::string>& frames);

  private:
    bool feed(std::string_view piece, std::vector<std::string>& frames);
    bool begin_frame(std::string_view& piece);

    std::uint32_t next_number_ = 0;
    std::map<std::uint32_t, std::string> early_;  // fragments that came before their turn
    std::string length_;                          // bytes of a length field not yet whole
    std::string frame_;
    std::size_t missing_ = 0;  // bytes of frame_ still to come
    bool in_frame_ = false;
};

}  // namespace wq::transport
