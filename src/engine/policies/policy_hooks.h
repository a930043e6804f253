// Each function calls the function of the same name on every policy that has one, in the order of policies.h.
// The compiler resolves those calls, so a policy declares only what it wants to hear.
#pragma once

#include <optional>
#include <string>

#include "engine/attempts/hooks.h"
#include "engine/policies/policy.h"

namespace wq::engine::policies {

struct Policies;

class PolicyHooks final : public Hooks {
  public:
    explicit PolicyHooks(Policies& policies) : policies_(policies) {}

    void leased(TaskId task, Attempted& attempted) const override;
    void freed(TaskId task, Attempted& attempted) const override;
    void reported(const Worker& worker, TaskId task, const Outcome& outcome, Instant began) const override;
    void range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                         Duration each) const override;
    void succeeded(TaskId task, const Outcome& outcome) const override;
    bool exhausted(TaskId task, Outcome& outcome) const override;
    void killed_as_slow(TaskId task, Outcome outcome) const override;
    void failed(TaskId task) const override;
    void shapes_added() const override;
    void asks_changed() const override;
    void awakened(ShapeId shape) const override;
    void pool_changed(bool grew) const override;
    void worker_joined(const Worker& worker) const override;
    void worker_gone(const RemovedWorker& worker) const override;
    void lease_kept(TaskId task) const override;
    void reconnected(Worker& worker, const IntervalSet& tickets) const override;
    void host_unblocked() const override;

    // ---- from the reactor alone ----

    void tick() const;
    std::optional<Instant> next_due() const;
    void tuned(const Tuned& event) const;
    std::optional<std::string> audit() const;

  private:
    Policies& policies_;
};

}  // namespace wq::engine::policies
