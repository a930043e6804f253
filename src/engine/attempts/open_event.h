// The event that the reactor handles: its time, and the actions that answer it. Between two events there are
// no actions, and the time is that of the last event.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/listening_clock.h"
#include "engine/model/events.h"
#include "engine/model/worker_table.h"

namespace wq::engine::attempts {

class OpenEvent {
  public:
    OpenEvent(const model::WorkerTable& workers, model::Now started, Duration silence)
        : workers_(workers), now_{started.instant, 0}, listening_(started.instant, silence) {}
    OpenEvent(const OpenEvent&) = delete;
    OpenEvent& operator=(const OpenEvent&) = delete;

    // The answer is added to `actions`, which the event holds until close() gives them back. Time never goes
    // back.
    void open(model::Now now, std::vector<model::Action>& actions) {
        now_ = {std::max(now.instant, now_.instant), now.wall};
        listening_.note_listening(now_.instant);
        actions_.swap(actions);
    }
    void close(std::vector<model::Action>& actions) { actions_.swap(actions); }

    Instant now() const { return now_.instant; }
    WallMicros wall() const { return now_.wall; }
    // Measures silence and time disconnected.
    const ListeningClock& listening() const { return listening_; }

    template <class A>
    void act(A&& action) {
        actions_.emplace_back(std::forward<A>(action));
    }
    // Tells a worker to kill those of the tasks that it holds. A disconnected worker is told after it
    // reconnects and names them.
    void kill(WorkerId worker, Interval tasks, Attempt attempt) {
        const model::Worker* const it = workers_.find(worker);
        if (it != nullptr && !it->disconnected()) act(model::Kill{worker, tasks, attempt});
    }
    void kill(WorkerId worker, TaskId task, Attempt attempt) {
        kill(worker, {task.value(), task.value() + 1}, attempt);
    }

  private:
    const model::WorkerTable& workers_;
    model::Now now_;
    ListeningClock listening_;
    std::vector<model::Action> actions_;
};

}  // namespace wq::engine::attempts
