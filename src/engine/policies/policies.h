// All policies, in the order in which PolicyHooks calls them. To add one, add it here.
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "engine/attempts/attempts.h"
#include "engine/policies/category_sizes.h"
#include "engine/policies/dispatch.h"
#include "engine/policies/host_exclusion.h"
#include "engine/policies/membership.h"
#include "engine/policies/policy.h"
#include "engine/policies/recalls.h"
#include "engine/policies/reports.h"
#include "engine/policies/run_end.h"
#include "engine/policies/slow_tasks.h"
#include "engine/policies/task_source.h"
#include "engine/policies/ticket_batches.h"
#include "engine/policies/unfit_tasks.h"

namespace wq::engine::policies {

struct Policies {
    explicit Policies(Shared& shared)
        : source(shared),
          membership(shared),
          sizes(shared),
          unfit(shared),
          hosts(shared),
          slow(shared),
          copies(shared),
          batches(shared),
          reports(shared),
          ranges(shared),
          cancellation(shared),
          end(shared),
          recalls(shared),
          times(shared),
          dispatch(shared) {}

    TaskSource source;
    Membership membership;
    CategorySizes sizes;
    UnfitTasks unfit;
    HostExclusion hosts;
    SlowTasks slow;
    SpeculativeCopies copies;
    TicketBatches batches;
    Reports reports;
    RangeReports ranges;
    Cancellation cancellation;
    RunEnd end;
    Recalls recalls;
    TaskTimes times;
    Dispatch dispatch;

    template <class F>
    void each(F&& call) {
        call(source), call(membership), call(sizes), call(unfit), call(hosts), call(slow), call(copies);
        call(batches), call(reports), call(ranges), call(cancellation), call(end), call(recalls);
        call(times), call(dispatch);
    }
};

// Checks whether a policy has a hook, for policies.cpp. A hook that is private or has other parameters
// would silently never be called, so the check distinguishes it from no hook.

// A name that both bases have is ambiguous here, whatever its access and parameters.
template <class Policy, class Named>
struct BothHave : Policy, Named {};

// Declares two constants about `policy`: `answers` (the function can be called with these arguments) and
// `is_named` (the policy has a member of that name).
#define WQ_LOOK_FOR_HOOK(function, ...)                           \
    struct Named {                                                \
        int function;                                             \
    };                                                            \
    using Both = BothHave<std::decay_t<decltype(policy)>, Named>; \
    constexpr bool answers = requires {                           \
        policy.function(__VA_ARGS__);                             \
    };                                                            \
    constexpr bool is_named = !requires {                         \
        &Both::function;                                          \
    }

// Each function calls the function of the same name on every policy that has one, in the order of Policies.
// The compiler resolves those calls, so a policy declares only what it wants to hear.
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
    void pool_changed(PoolChange change) const override;
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
