// What a launcher reports of its orders, and the lines that it runs before them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "engine/model/outcome.h"

namespace wq::node::launcher {

// A `#!` line that applies to this worker. Lines are sent once each, in order; `position` counts them from 1.
struct EnvironmentLine {
    std::uint64_t position = 0;
    std::string text;
};

// Reports.
struct TaskStarted {  // omitted if the task ended within the same batch of reports (a few ms)
    TaskId task;
    Attempt attempt;
};
struct TaskEnded {
    TaskId task;
    Attempt attempt;
    engine::model::Outcome outcome;
    engine::model::Output output;
    // Files with its stdout and stderr, if these are too large for `output`; whoever has the report removes
    // them. Empty: none.
    std::array<std::string, 2> files{};
};
struct OrderReturned {  // it had not started: after recall(), kill(), kill_all() or EnvironmentExit
    TaskId task;
    Attempt attempt;
};
struct EnvironmentOutput {  // a `#!` line that failed or wrote something
    std::uint64_t position = 0;
    int exit_code = 0;
    engine::model::Output output;
};
// A `#!` line ended the worker's shell with `exit` (or by a signal: 128 + its number). Orders below that line
// are returned as OrderReturned.
struct EnvironmentExit {
    std::uint64_t position = 0;
    int exit_code = 0;
};
struct LauncherDied {
    std::vector<std::pair<TaskId, Attempt>> started;      // were running: their attempts are lost
    std::vector<std::pair<TaskId, Attempt>> not_started;  // were queued: requeued at no cost
    std::string why;                                      // "killed by signal 9"
};
using Report =
    std::variant<TaskStarted, TaskEnded, OrderReturned, EnvironmentOutput, EnvironmentExit, LauncherDied>;

}  // namespace wq::node::launcher
