// Recognises tasks killed by the signal that stops the run. A batch system sends it to every process of a job
// in turn; a task that it kills was stopped with the run and has not failed. Under Slurm a task can end
// before its rank gets the signal, so such an end waits a moment for that signal.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/time.h"
#include "node/launcher/launcher.h"

namespace wq::worker {

class SignalledEnds {
  public:
    // How long an end waits: the longest delay between the processes of a host that get the same signal.
    static constexpr Duration wait_limit = std::chrono::seconds(1);

    // This process got `signal`, which stops the run.
    void note_stop(int signal);
    // Stops waiting for further signals, because the run is already being ended.
    void stop_waiting() { explained_ = true; }

    // Adds an end. take() returns it at once unless it has to wait.
    void add(node::launcher::TaskEnded end, Instant now);
    // The next end whose kind is certain. If our signal caused it, it is Ending::killed.
    std::optional<node::launcher::TaskEnded> take(Instant now);
    // When to take the first waiting end; nullopt if none waits.
    std::optional<Instant> wakeup() const;

  private:
    bool explained(const engine::model::Outcome& outcome) const;

    std::set<int> stop_signals_;
    bool explained_ = false;
    std::deque<std::pair<Instant, node::launcher::TaskEnded>>
        waiting_;  // with the time until which each waits
    std::deque<node::launcher::TaskEnded> certain_;
};

}  // namespace wq::worker
