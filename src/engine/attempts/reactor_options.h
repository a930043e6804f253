// The user's settings for scheduling a run.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"
#include "engine/model/allocation.h"
#include "engine/model/events.h"
#include "engine/model/worker_table.h"

namespace wq::engine::attempts {

struct ReactorOptions {
    // A task fails after it was lost with its worker this many times, unless it has its own limit on tries;
    // 0: never.
    std::uint32_t max_losses = 3;
    bool halt_on_failure = false;              // the first final failure stops the run
    Duration silence = model::worker_silence;  // a worker not heard for this long is lost
    // The pool is complete when this many workers have joined, or after join_limit. 0: it is never complete,
    // workers may join at any time, and the run does not wait for them.
    std::uint32_t expected_workers = 1;
    Duration join_limit = std::chrono::seconds(10);
    Duration rejoin_limit{0};  // how long tasks wait for a worker that left and may rejoin
    // Tasks that no worker can hold wait for one that can, and a run without workers waits for some, even if
    // the pool is complete. For programs, whose workers join and leave.
    bool wait_for_fitting = false;
    std::uint32_t hold_until_workers = 0;  // dispatch nothing before this many were connected at once
    bool excludes_failing_hosts = true;    // exclude hosts where tasks fail that succeed elsewhere
    std::uint64_t most_running = 0;        // tasks at once, copies included; 0: as many as the workers hold
    bool seal_batches = false;             // use tickets where many tasks have one shape
    model::AllocationRules allocation{};   // how much of a worker a task gets
    bool limits_memory = true;             // kill a task that exceeds the memory it asks for
    model::Monitoring monitoring{};
    // If limits are enforced and fewer tasks wait than there are workers, a task is allocated all that is
    // free.
    bool ramps_down = false;
    // A worker may hold tasks for this many times its resources; the excess tasks queue there.
    double submit_multiplier = 1;
    Duration kill_limit = std::chrono::milliseconds(500);  // after killing, wait this long for the reports
};

}  // namespace wq::engine::attempts
