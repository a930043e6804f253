// How much memory the frames may take that have not yet come whole, of all links together. Beyond the bound
// one link goes on with its frame and the others are not read: were all of them stopped, none would ever come
// whole, and were all read, the memory would be as large as the frames of all peers.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.h"

namespace wq::transport {

class FrameBudget {
  public:
    using LinkId = std::uint64_t;
    // Who holds no more than this need not wait: keep-alives and reports pass a file that is on its way.
    static constexpr std::size_t small = 64u << 10;

    explicit FrameBudget(std::size_t most) : most_(most) {}

    // What a link has of a frame begun: `memory` bytes, in which `received` are. Returns whether to read on;
    // if not, it is among take_released() once it may.
    bool begun(LinkId link, std::size_t memory, std::size_t received);
    void ended(LinkId link);  // its frame is whole, or the link is gone

    bool spent() const { return total_ > most_; }
    std::vector<LinkId> take_released();
    // Whom others wait for and who brought less than `small` within `patience`.
    std::optional<LinkId> too_slow(Duration patience, Instant now);
    void watch_anew() { watched_since_.reset(); }  // we ourselves stood still

  private:
    const std::size_t most_;
    std::size_t total_ = 0;
    std::unordered_map<LinkId, std::size_t> memory_;
    std::deque<LinkId> waiting_;
    std::optional<LinkId> going_;  // the one that is read beyond the bound
    std::size_t going_received_ = 0;
    std::optional<Instant> watched_since_;
    std::size_t watched_from_ = 0;
};

}  // namespace wq::transport
