// How much memory the frames may take that have not yet come whole, of all links together. Beyond the bound
// one link goes on with its frame and the others are not read: were all of them stopped, none would ever come
// whole, and were all read, the memory would be as large as the frames of all peers.
// Who goes on slowly gives way to the next, and goes on beside it as slowly. So slow peers hold nobody up;
// what they can cost is memory, and when they together hold as much again, one of them its connection.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/time.h"

namespace wq::transport {

class FrameBudget {
  public:
    using LinkId = std::uint64_t;
    // Who holds no more than this need not wait: keep-alives and reports pass a file that is on its way.
    static constexpr std::size_t small = 64u << 10;
    // Slow is who brings less than `small` in so long a time.
    static constexpr Duration turn = std::chrono::seconds(1);

    explicit FrameBudget(std::size_t most) : most_(most) {}

    // What a link has of a frame begun: `memory` bytes, in which `received` are. Returns whether to read on;
    // if not, it is told by next_released() once it may.
    bool begun(LinkId link, std::size_t memory, std::size_t received);
    void ended(LinkId link);  // its frame is whole, or the link is gone

    bool spent() const { return total_ > most_; }
    std::optional<LinkId> next_released();  // until there is none
    // To be called now and then, and next_released() after it. Returns whose link is to end.
    std::optional<LinkId> look(Instant now);
    void look_anew() { looked_at_.reset(); }  // we ourselves stood still

  private:
    struct Half {
        std::size_t memory = 0;
        std::size_t received = 0;
        std::size_t counted = 0;  // of these, at the last look
        bool slow = false;
    };
    void let_go_on(LinkId link);
    void set_slow(Half& half, bool slow);
    std::optional<LinkId> largest_slow() const;

    const std::size_t most_;
    std::size_t total_ = 0;
    std::size_t slow_ = 0;  // of it, of the slow ones
    std::unordered_map<LinkId, Half> halves_;
    std::deque<LinkId> waiting_;
    std::optional<LinkId> going_;  // the one that is read beyond the bound
    std::optional<Instant> looked_at_;
};

}  // namespace wq::transport
