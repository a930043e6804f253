// All policies, in the order in which policy_hooks.h calls them. To add one, add it here.
#pragma once

#include "engine/policies/cancellation.h"
#include "engine/policies/category_sizes.h"
#include "engine/policies/dispatch.h"
#include "engine/policies/host_exclusion.h"
#include "engine/policies/membership.h"
#include "engine/policies/recalls.h"
#include "engine/policies/reports.h"
#include "engine/policies/run_end.h"
#include "engine/policies/slow_tasks.h"
#include "engine/policies/speculative_copies.h"
#include "engine/policies/task_source.h"
#include "engine/policies/task_times.h"
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
    void each(F&& tell) {
        tell(source), tell(membership), tell(sizes), tell(unfit), tell(hosts), tell(slow), tell(copies);
        tell(batches), tell(reports), tell(ranges), tell(cancellation), tell(end), tell(recalls);
        tell(times), tell(dispatch);
    }
};

}  // namespace wq::engine::policies
