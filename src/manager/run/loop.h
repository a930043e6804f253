// Waits in one poll() for every descriptor that can wake the process, with a back-off for sources that must
// be polled.
#pragma once

#include <poll.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/time.h"

namespace wq::manager::run {

// The pause before the other side is polled again grows with its silence.
//
// If functions are called on this machine one after the other, the next message comes within about 50 us,
// which is what one sleep and its wake-up take. For 200 us after such a message there is no pause, and the
// thread only yields. Messages of commands do not count: commands need the processor, and take longer anyway.
// (When they counted, workers over TCP completed only 0.6 to 0.9 as many per second.) Messages of many calls
// at once do not count either: their rate matters, and they gather while the thread sleeps.
//
// After that the pause is half of the silence, up to 18 ms: a turn of an idle rank takes about 100 us on a
// virtual machine, half of it for the sleep itself, so an idle rank stays below 1 % of a core, and the first
// task after a silence starts within 20 ms.
class BackOff {
  public:
    explicit BackOff(Instant now) : moved_(now), yields_until_(now) {}

    void moved(Instant now) { moved_ = now; }
    void heard_close_by(Instant now) {
        moved(now);
        yields_until_ = now + awake;
    }

    Instant yields_until() const { return yields_until_; }
    bool yields(Instant now) const { return now < yields_until_; }
    Duration pause(Instant now) const {
        if (yields(now)) return Duration{0};
        return std::min(shortest + (now - moved_) / 2, longest);
    }

    static constexpr Duration awake = std::chrono::microseconds(200);
    static constexpr Duration shortest = std::chrono::microseconds(50);
    static constexpr Duration longest = std::chrono::milliseconds(18);

  private:
    Instant moved_;
    Instant yields_until_;
};

// For a thread that waits by a BackOff: by default the kernel adds 50 us to each wait, to save wake-ups.
void wakes_on_time();

// A set of descriptors, filled again each turn.
class Waiter {
  public:
    void clear() { descriptors_.clear(); }
    void watch(int descriptor) {
        if (descriptor >= 0) descriptors_.push_back({descriptor, POLLIN, 0});
    }
    // Waits until one is readable or `longest` is over; nothing: no limit.
    void wait(std::optional<Duration> longest);
    // Lets other threads run instead of sleeping, then looks.
    void yield();
    bool readable(int descriptor) const {
        return std::any_of(descriptors_.begin(), descriptors_.end(),
                           [&](const pollfd& entry) { return entry.fd == descriptor && entry.revents != 0; });
    }

  private:
    std::vector<pollfd> descriptors_;
};

}  // namespace wq::manager::run
