// Ends the run when all tasks have ended, a stop was requested, no worker is left, or none has the time that
// the remaining tasks need. Also pauses dispatching while results wait to be written.
#pragma once

#include <optional>

#include "engine/policies/policy.h"

namespace wq::engine::policies {

class RunEnd : Policy {
  public:
    explicit RunEnd(Shared& shared) : Policy(shared), run_(shared.state.run) {}

    void on(const StopRequested& event);
    void on(const StorageTrouble& event);

    void failed(TaskId task);
    void reconnected(const Worker& worker, const IntervalSet& tickets);
    void tick();
    std::optional<Instant> next_due() const;

    void finish_if_over();
    bool finished() const { return finished_; }

  private:
    struct Stop {
        StopReason reason;
        Instant kill_at;
        bool killed = false;
    };
    void kill_what_runs();
    bool too_late_for_all();
    ExitCode exit_code() const;

    RunPhase& run_;
    std::optional<Stop> stop_;
    Instant time_checked_at_{};  // by too_late_for_all()
    bool finished_ = false;
};

}  // namespace wq::engine::policies
