// The base of all policies. It gives a policy the shared state, the queries on it, and the operations that
// begin and end attempts. No policy uses another one; they notify each other through
// engine/attempts/attempts.h.
#pragma once

#include "engine/attempts/attempts.h"
#include "engine/attempts/fit.h"
#include "engine/attempts/state.h"

namespace wq::engine::policies {

using namespace engine::attempts;  // its state and operations are what this folder is about

struct Shared {
    Shared(const ReactorOptions& options, Now started, const Hooks& listeners)
        : state(options, started), hooks(listeners) {}
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

    State state;
    const Hooks& hooks;
    Fit fit{state};
    Pool pool{state, fit};
    Attempts attempts{state, fit, hooks};
};

class Policy {
  public:
    explicit Policy(Shared& shared)
        : state_(shared.state),
          ledger_(shared.state.ledger),
          workers_(shared.state.workers),
          fit_(shared.fit),
          pool_(shared.pool),
          attempts_(shared.attempts),
          hooks_(shared.hooks) {}
    Policy(const Policy&) = delete;
    Policy& operator=(const Policy&) = delete;

  protected:
    ~Policy() = default;

    Instant now() const { return state_.now.instant; }
    template <class A>
    void act(A&& action) {
        state_.act(std::forward<A>(action));
    }

    State& state_;
    Ledger& ledger_;
    WorkerTable& workers_;
    const Fit& fit_;
    const Pool& pool_;
    Attempts& attempts_;
    const Hooks& hooks_;
};

}  // namespace wq::engine::policies
