// How a run is scheduled, as set by the user.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"
#include "core/allocation.h"
#include "core/events.h"

namespace wq::scheduling {

struct ReactorOptions {
    // A task fails after it was lost with its worker so often, unless it has its own limit of tries; 0:
    // never.
    std::uint32_t max_losses = 3;
    bool halt_on_failure = false;                 // the first final failure stops the run
    Duration silence = std::chrono::seconds(10);  // a worker not heard for so long is lost
    // The pool is complete when so many have joined, or after join_limit. 0: it is never complete, any worker
    // may come at any time, and there is no waiting for it.
    std::uint32_t expected_workers = 1;
    Duration join_limit = std::chrono::seconds(10);
    Duration rejoin_limit{0};  // tasks wait so long for a worker that left and may join again
    Duration away_limit{0};    // a disconnected worker keeps its leases for so long
    // Tasks that no worker can hold wait for one that can, and a run without workers waits for some, although
    // the pool is complete: for programs, whose workers come and go.
    bool wait_for_fitting = false;
    std::uint32_t hold_until_workers = 0;  // nothing is dispatched before so many were there at once
    bool excludes_failing_hosts = true;    // exclude hosts that fail what succeeds elsewhere
    bool seal_batches = false;             // use tickets where many tasks have one shape
    core::AllocationRules allocation{};    // how much of a worker a task gets
    bool limits_memory = true;             // a task that says how much memory it needs is killed above that
    core::Monitoring monitoring{};
    // If limits are enforced and fewer tasks wait than there are workers, a task gets all that is free.
    bool ramps_down = false;
    // A worker may hold so many times its resources: the tasks beyond them queue there.
    double submit_multiplier = 1;
    Duration kill_limit = std::chrono::milliseconds(500);  // after killing, wait so long for the reports
};

}  // namespace wq::scheduling
