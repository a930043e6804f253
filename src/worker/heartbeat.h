// The heartbeat of a rank: when to send the next beat, and whether its manager has been silent for so long
// that it is lost. TCP workers do not need it, because TCP notices by itself.
#pragma once

#include <algorithm>
#include <optional>

#include "base/listening_clock.h"
#include "base/time.h"

namespace wq::worker {

class Heartbeat {
  public:
    // `silence`: a manager not heard for this long is lost; none: it is never lost.
    Heartbeat(Duration beat, std::optional<Duration> silence) : beat_(beat), silence_(silence) {}

    void start(Instant now) {
        last_sent_ = now;
        listening_ = ListeningClock(now, silence_.value_or(Duration{0}));
        last_heard_ = listening_.now();
    }
    void sent(Instant now) { last_sent_ = now; }
    void heard(Instant now) {
        listening_.note_listening(now);
        last_heard_ = listening_.now();
    }
    bool manager_lost(Instant now) {
        listening_.note_listening(now);
        return silence_ && listening_.silent(last_heard_);
    }
    bool due(Instant now) const { return now - last_sent_ >= beat_; }
    Instant wakeup() const {
        const Instant next = last_sent_ + beat_;
        if (!silence_) return next;
        return std::min(next, listening_.next_look(listening_.silence_ends(last_heard_)));
    }

  private:
    Duration beat_;
    std::optional<Duration> silence_;
    Instant last_sent_;
    Instant last_heard_;  // by listening_
    ListeningClock listening_{Instant{}, Duration{0}};
};

}  // namespace wq::worker
