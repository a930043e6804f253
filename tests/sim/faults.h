// The faults of a simulated run. Probabilities are 0 to 1.
#pragma once

#include <optional>

#include "base/time.h"
#include "engine/model/events.h"

namespace wq::sim {

struct Faults {
    // Tasks.
    std::uint64_t most_tasks = 40;
    bool groups = false;
    bool pins = false;         // `#@i`
    bool short_tasks = false;  // they wait in launchers, and are recalled from there
    double failures = 0;       // tasks that fail, always or at first
    double killers = 0;        // tasks that kill their worker
    double too_large = 0;      // tasks larger than every worker
    bool twins = false;        // many tasks of one shape, so that batches form
    // Workers.
    bool tickets = false;
    std::uint32_t most_workers = 5;
    double losses = 0;  // per worker and second
    bool late_joins = false;
    std::uint32_t max_losses = 3;
    bool broken = false;  // the first host fails every task at once
    // TCP workers: a disconnection loses frames in flight in both directions; answers are sent again.
    bool tcp = false;
    double cuts = 0;       // disconnections per worker and second
    double long_cuts = 0;  // share of these that last as long as possible
    Duration disconnect_limit = std::chrono::seconds(20);
    double drains = 0;    // per worker and second
    bool ranges = false;  // successful tickets are reported as ranges
    // Requests of a program.
    double cancels = 0;           // per second
    double cancelled_ranges = 0;  // share of these that cancel a run of consecutive tasks
    double own_limits = 0;        // tasks with their own limit of tries
    double exhausting = 0;        // share of these that exceed their allocation
    bool copies = false;          // speculative copies
    double blocks = 0;            // hosts per second
    double categories = 0;        // tasks whose category sets or learns their allocation
    bool limits = false;          // concurrency limits change during the run
    bool priorities = false;
    double remote = 0;          // tasks for coprocesses
    bool proportional = false;  // whole workers or shares of one; the rules change during the run
    double slow = 0;            // tasks whose first runs take very long and are killed
    double times = 0;           // tasks with a start and an end time
    // The network and others.
    double duplicates = 0;
    Duration most_delay{0};
    bool storage_trouble = false;
    std::optional<engine::model::StopReason> stop;
    bool halt_on_failure = false;
    bool resumed = false;  // some tasks ended in an earlier run
};

}  // namespace wq::sim
