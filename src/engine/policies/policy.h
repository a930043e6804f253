// The base of all policies. It gives a policy the queries on the shared state, and the operations that begin
// and end attempts. A policy that writes a table other than those of tasks and workers names the table as a
// member of its own. No policy uses another policy: policies notify each other through the hooks in
// engine/attempts/attempts.h.
#pragma once

#include "engine/attempts/attempts.h"
#include "engine/attempts/fit.h"
#include "engine/attempts/open_event.h"
#include "engine/attempts/run_counters.h"
#include "engine/attempts/state.h"

namespace wq::engine::policies {

using namespace engine::attempts;  // its state and operations are what this folder is about

struct Shared {
    Shared(const ReactorOptions& options, Now started, const Hooks& listeners)
        : state(options, started.instant),
          event(state.workers, started, options.silence),
          counters(started.wall),
          hooks(listeners) {}
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

    State state;
    OpenEvent event;
    RunCounters counters;
    const Hooks& hooks;
    Fit fit{state, event};
    Pool pool{state, event, fit};
    Attempts attempts{state, event, counters, fit, hooks};
};

class Policy {
  public:
    explicit Policy(Shared& shared)
        : event_(shared.event),
          counters_(shared.counters),
          state_(shared.state),
          ledger_(shared.state.ledger),
          workers_(shared.state.workers),
          fit_(shared.fit),
          pool_(shared.pool),
          attempts_(shared.attempts),
          hooks_(shared.hooks),
          shared_(shared) {}
    Policy(const Policy&) = delete;
    Policy& operator=(const Policy&) = delete;

  protected:
    ~Policy() = default;

    Instant now() const { return event_.now(); }
    template <class A>
    void act(A&& action) {
        event_.act(std::forward<A>(action));
    }
    // Makes the shape's ready tasks look for workers, although nothing else has changed for them.
    void awaken(ShapeId shape) { shared_.state.awakened.push_back(shape); }
    // Makes the unclaimed tickets of the open batch ready again.
    void revoke_batch();
    // Tickets of the open batch have ended.
    void close_tickets(Interval tickets, TaskEvent how);

    OpenEvent& event_;
    RunCounters& counters_;
    const State& state_;
    Ledger& ledger_;
    WorkerTable& workers_;
    const Fit& fit_;
    const Pool& pool_;
    Attempts& attempts_;
    const Hooks& hooks_;

  private:
    Shared& shared_;
};

}  // namespace wq::engine::policies
