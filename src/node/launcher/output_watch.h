// Reads what tasks and the worker's shell write while they run, so that a full pipe does not stop them.
#pragma once

#include <cstddef>

#include "node/launcher/lane.h"
#include "node/process/poller.h"

namespace wq::node::launcher {

class OutputWatch {
  public:
    explicit OutputWatch(process::Poller& poller) : poller_(poller) {}

    void started() { ++unwatched_; }
    void ended(Lane& lane);  // for each started() task
    bool owed() const { return unwatched_ > 0; }
    Instant next(Instant now) const;                 // when to look for tasks that are due; max: never
    static bool due(const Lane& lane, Instant now);  // it has run long enough, and is not watched yet
    void watch(Lane& lane);

    // Watches for one event only, so it is called again after each. The pipe stays in the poller, disarmed.
    void watch_stream(process::Capture& capture, process::Source source, std::size_t number);
    void drain(process::Capture& capture, process::Source source, std::size_t number);

  private:
    process::Poller& poller_;
    // Running tasks whose output is not watched yet. Most tasks end before it is: to be woken by what they
    // write, and again by their end, would cost a good part of a short task.
    std::size_t unwatched_ = 0;
};

}  // namespace wq::node::launcher
