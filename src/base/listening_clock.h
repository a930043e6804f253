// The clock that measures how long peers have been silent. It stops while this process does not listen,
// because unread messages are not silence. So a process that was stopped, or waited long for a disk, declares
// no peer lost before it has read what was sent meanwhile. After a pause as long as the timeout (`timeout`),
// every peer gets the full timeout again.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace wq {

class ListeningClock {
  public:
    ListeningClock(Instant started, Duration timeout)
        : timeout_(timeout), looked_(started), now_(started), resumed_(started) {}

    // Called when the process listens and has read all that was sent before the last look. Time never goes
    // back.
    void note_listening(Instant at) {
        const Duration pause = std::max(at - looked_, Duration{0});
        looked_ += pause;
        now_ += std::min(pause, most_a_look());
        if (pause >= timeout_) resumed_ = now_;
    }

    // The time of this clock. The functions below use this clock unless they say otherwise.
    Instant now() const { return now_; }
    // When a peer that was last heard at `heard` has been silent for too long.
    Instant silence_ends(Instant heard) const { return std::max(heard, resumed_) + timeout_; }
    bool silent(Instant heard) const { return now_ >= silence_ends(heard); }
    // By the real clock: when to look next, so as not to miss `until`. There are several looks per timeout.
    Instant next_look(Instant until) const { return looked_ + std::min(until - now_, most_a_look()); }

  private:
    Duration most_a_look() const { return timeout_ / 4; }

    Duration timeout_;
    Instant looked_;  // by the real clock
    Instant now_;
    Instant resumed_;
};

}  // namespace wq
