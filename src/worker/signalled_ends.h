// Tasks killed by a signal that stops runs. A batch system sends it to every process of a job in turn; a
// task that it kills was stopped with the run and has not failed. Under Slurm a task's end can precede its
// rank's signal, so such an end waits a moment for that signal.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/time.h"
#include "launcher/launcher.h"

namespace wq::worker {

class SignalledEnds {
  public:
    // How long an end waits: how far apart the processes of one host may get the same signal.
    static constexpr Duration patience = std::chrono::seconds(1);

    // This process was sent `signal` to stop.
    void note_stop(int signal);
    // No further signal is waited for: the run is being ended already.
    void stop_waiting() { explained_ = true; }

    // An end has come. take() gives it back at once unless it has to wait.
    void add(launcher::TaskEnded end, Instant now);
    // The next end whose kind is certain; one by our signal is Ending::killed.
    std::optional<launcher::TaskEnded> take(Instant now);
    // When the first that waits is to be taken; nothing: none waits.
    std::optional<Instant> wakeup() const;

  private:
    bool explained(const core::Outcome& outcome) const;

    std::set<int> stop_signals_;
    bool explained_ = false;
    std::deque<std::pair<Instant, launcher::TaskEnded>> waiting_;  // with the end of their patience
    std::deque<launcher::TaskEnded> certain_;
};

}  // namespace wq::worker
