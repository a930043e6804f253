// Reads what tasks write while they run, so that a full pipe does not stop them.
#pragma once

#include <cstddef>

#include "launcher/lane.h"
#include "process/poller.h"

namespace wq::launcher {

class OutputWatch {
  public:
    explicit OutputWatch(process::Poller& poller) : poller_(poller) {}

    // Tasks whose output is not watched yet. Most tasks end before their output is watched: to be woken by
    // what they write, and again by their end, would cost a good part of a short task.
    void begin() { ++unwatched_; }
    void end(Lane& lane);  // of each that began
    bool owed() const { return unwatched_ > 0; }
    Instant next(Instant now) const;                 // when to watch(); max: no task is left to watch
    static bool due(const Lane& lane, Instant now);  // it has run long enough, and is not watched yet
    void watch(Lane& lane);

    // Watches for one event only, so it is called again after each. The pipe stays in the poller, disarmed.
    void watch_stream(process::Capture& capture, process::Source source, std::size_t number);
    void drain(process::Capture& capture, process::Source source, std::size_t number);

  private:
    process::Poller& poller_;
    std::size_t unwatched_ = 0;
};

}  // namespace wq::launcher
