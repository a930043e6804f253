// Waiting: one poll() on every descriptor that can wake a process, with a back-off where something must be
// asked instead.
#pragma once

#include <poll.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/time.h"

namespace wq::app {

// How long to wait before MPI is asked again. It grows from 50 us to 10 ms while nothing moves: one look at
// MPI costs about 20 us, so that an idle rank stays below 1 % CPU. By a half each time, it is a third of the
// time since the last message: a call on another rank and its answer took 208 us where it doubled, 122 us so
// (wakes_on_time() included), and 110 us where it grew by a quarter, with twice the looks.
class BackOff {
  public:
    void moved() { wait_ = shortest; }
    Duration next() {
        const Duration now = wait_;
        wait_ = std::min(wait_ + wait_ / 2, longest);
        return now;
    }
    static constexpr Duration shortest = std::chrono::microseconds(50);
    static constexpr Duration longest = std::chrono::milliseconds(10);

  private:
    Duration wait_ = shortest;
};

// For the thread that waits by a BackOff: the kernel adds 50 us to each wait, to save wake-ups, unless told.
void wakes_on_time();

// A set of descriptors, told anew each turn.
class Waiter {
  public:
    void clear() { descriptors_.clear(); }
    void watch(int descriptor) {
        if (descriptor >= 0) descriptors_.push_back({descriptor, POLLIN, 0});
    }
    // Until one is readable or `longest` is over; nothing: for ever.
    void wait(std::optional<Duration> longest);
    bool readable(int descriptor) const {
        return std::any_of(descriptors_.begin(), descriptors_.end(),
                           [&](const pollfd& entry) { return entry.fd == descriptor && entry.revents != 0; });
    }

  private:
    std::vector<pollfd> descriptors_;
};

}  // namespace wq::app
