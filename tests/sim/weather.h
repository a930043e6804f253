// What a simulated run has to endure. Chances are 0 to 1.
#pragma once

#include <optional>

#include "base/time.h"
#include "core/events.h"

namespace wq::sim {

struct Weather {
    // The list.
    std::uint64_t most_tasks = 40;
    bool groups = false;
    bool pins = false;         // `#@i`
    bool short_tasks = false;  // that wait in launchers, and are recalled from there
    double failures = 0;       // tasks that fail, for good or at first
    double killers = 0;        // tasks that kill their worker
    double too_large = 0;      // tasks that no worker can hold
    bool twins = false;        // many tasks of one shape, as batches are made of
    // The pool.
    bool tickets = false;
    std::uint32_t most_workers = 5;
    double losses = 0;  // per worker and second
    bool late_joins = false;
    std::uint32_t max_losses = 3;
    bool broken = false;  // the first host fails whatever it gets, and at once
    // Workers over TCP: frames in flight are lost with a link, in both directions; answers are sent again.
    bool tcp = false;
    double cuts = 0;       // of links, per worker and second
    double long_cuts = 0;  // of these, as long as may be
    Duration away_limit = std::chrono::seconds(20);
    double drains = 0;    // per worker and second
    bool ranges = false;  // tickets that succeed are reported many at once
    // What a program asks for.
    double cancels = 0;           // per second
    double cancelled_ranges = 0;  // of these, of neighbours at once
    double own_limits = 0;        // tasks with a limit of tries of their own
    double exhausting = 0;        // of tasks with such a limit: those that use up what they are given
    bool copies = false;          // of the last stragglers
    double blocks = 0;            // of hosts, per second
    double categories = 0;        // tasks whose category says, or learns, what they are given
    bool limits = false;          // how many run at once changes meanwhile
    bool priorities = false;
    bool proportional =
        false;         // tasks get whole workers, or their share of one; and the rules change meanwhile
    double slow = 0;   // tasks that take very long on their first runs; what takes too long is ended
    double times = 0;  // tasks that have a start and an end time
    // The network, and the rest.
    double duplicates = 0;
    Duration most_delay{0};
    bool storage_trouble = false;
    std::optional<core::StopReason> stop;
    bool halt_on_failure = false;
    bool resumed = false;  // parts of the list ended in an earlier run
};

}  // namespace wq::sim
