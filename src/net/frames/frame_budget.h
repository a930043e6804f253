// Limits the memory of incomplete frames over all links. Above the limit one link continues its frame and the
// others are not read: if all were stopped, no frame would ever be complete, and if all were read, memory
// would grow to the frames of all peers. A slow link yields to the next and continues beside it, just as
// slowly. So slow peers delay nobody; they only cost memory. When slow peers together hold the limit once
// more, one is disconnected.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/time.h"

namespace wq::net::frames {

class FrameBudget {
  public:
    using LinkId = std::uint64_t;
    // A link with no more than this need not wait, so keep-alives and reports pass a file in transfer.
    static constexpr std::size_t small = 64u << 10;
    // A link is slow if it delivers less than `small` in this time.
    static constexpr Duration turn = std::chrono::seconds(1);

    explicit FrameBudget(std::size_t most) : most_(most) {}

    // A link holds an incomplete frame: `received` bytes in `memory` bytes. Returns whether to read on; if
    // not, next_released() names the link once it may.
    bool begun(LinkId link, std::size_t memory, std::size_t received);
    void ended(LinkId link);  // its frame is complete, or the link is gone

    bool spent() const { return total_ > most_; }
    std::optional<LinkId> next_released();  // call until it returns none
    // Call it regularly, and next_released() after it. Returns the link to disconnect, if any.
    std::optional<LinkId> find_slow(Instant now);
    void look_anew() { looked_at_.reset(); }  // after this process was paused

  private:
    struct Half {
        std::size_t memory = 0;
        std::size_t received = 0;
        std::size_t counted = 0;  // of `received`, at the last look
        bool slow = false;
    };
    void let_go_on(LinkId link);
    void set_slow(Half& half, bool slow);
    std::optional<LinkId> largest_slow() const;

    const std::size_t most_;
    std::size_t total_ = 0;
    std::size_t slow_ = 0;  // of `total_`, by slow links
    std::unordered_map<LinkId, Half> halves_;
    std::deque<LinkId> waiting_;
    std::optional<LinkId> going_;  // the link that is read above the limit
    std::optional<Instant> looked_at_;
};

}  // namespace wq::net::frames
