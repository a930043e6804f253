// Splits frames into fragments and reassembles them. Fragments stay below 4096 bytes: Open MPI announces a
// longer message first and fetches it later, so if the sender is killed in between, the receive never
// completes.
//
// A fragment is a 32-bit number, counting from 0 per sender and receiver, and a piece of the stream; the
// stream is each frame's 32-bit length and its bytes. Because of the numbers, receives may complete in any
// order. Both ends of a job are the same program on the same kind of machine, so numbers have native byte
// order.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wq::ranks::mpi {

inline constexpr std::size_t kFragmentBytes = 3968;
inline constexpr std::size_t kMostFrameBytes = std::size_t{1} << 31;
inline constexpr int kFragmentTag = 1;  // of their MPI messages

// The sender's side. Small frames share fragments.
class FrameCutter {
  public:
    void add(std::string frame);
    bool empty() const { return frames_.empty(); }

    // Fills `out` (kFragmentBytes long) and returns the number of bytes used. Call only when not empty.
    std::size_t cut(char* out);

  private:
    std::deque<std::string> frames_;
    std::size_t done_ = 0;  // bytes of the first frame that are sent, its length field included
    std::uint32_t next_number_ = 0;
};

// The receiver's side.
class FrameAssembler {
  public:
    // Consumes a fragment and appends the frames that it completes. False if it is malformed.
    bool take(std::string_view fragment, std::vector<std::string>& frames);

  private:
    bool feed(std::string_view piece, std::vector<std::string>& frames);
    bool begin_frame(std::string_view& piece);

    std::uint32_t next_number_ = 0;
    std::map<std::uint32_t, std::string> early_;  // fragments that arrived before their turn
    std::string length_;                          // bytes of an incomplete length field
    std::string frame_;
    std::size_t missing_ = 0;  // bytes that frame_ still lacks
    bool in_frame_ = false;
};

}  // namespace wq::ranks::mpi
