// Time by which the silence of others is judged. It stands still while who judges does not look: what was not
// listened to is no silence. So a process that was stopped, or waited long for a disk, takes nobody for dead
// before it has read what was sent meanwhile; and after a pause as long as its patience everybody has the
// whole of that again.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace wq {

class ListeningClock {
  public:
    ListeningClock(Instant started, Duration patience)
        : patience_(patience), looked_(started), now_(started), resumed_(started) {}

    // It listens now, and has heard all that was sent before the last look. Never back.
    void look(Instant at) {
        const Duration pause = std::max(at - looked_, Duration{0});
        looked_ += pause;
        now_ += std::min(pause, most_a_look());
        if (pause >= patience_) resumed_ = now_;
    }

    // Of this clock, as what follows takes and returns unless it says otherwise.
    Instant now() const { return now_; }
    // When somebody who was last heard then has been silent for too long.
    Instant patience_ends(Instant heard) const { return std::max(heard, resumed_) + patience_; }
    bool silent(Instant heard) const { return now_ >= patience_ends(heard); }
    // By the true clock: when to look, to be there at `until`. Several looks are one period of patience.
    Instant next_look(Instant until) const { return looked_ + std::min(until - now_, most_a_look()); }

  private:
    Duration most_a_look() const { return patience_ / 4; }

    Duration patience_;
    Instant looked_;  // by the true clock
    Instant now_;
    Instant resumed_;
};

}  // namespace wq
