// All policies, in the order in which policy_hooks.h calls them. To add one, add it here.
#pragma once

#include "scheduling/cancellation.h"
#include "scheduling/category_sizes.h"
#include "scheduling/dispatch.h"
#include "scheduling/host_exclusion.h"
#include "scheduling/membership.h"
#include "scheduling/range_reports.h"
#include "scheduling/recalls.h"
#include "scheduling/reports.h"
#include "scheduling/run_end.h"
#include "scheduling/slow_tasks.h"
#include "scheduling/speculative_copies.h"
#include "scheduling/task_source.h"
#include "scheduling/task_times.h"
#include "scheduling/ticket_batches.h"
#include "scheduling/unfit_tasks.h"

namespace wq::scheduling {

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

}  // namespace wq::scheduling
