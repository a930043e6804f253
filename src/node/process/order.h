// An order: what a launcher must start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environment_changes.h"
#include "base/ids.h"
#include "base/time.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"
#include "node/process/functions.h"

namespace wq::node::process {

struct Order {
    TaskId task;
    Attempt attempt = 1;
    engine::model::Resources give;           // its allocation
    Duration timeout{0};                     // 0: none
    engine::model::Watch watch{};            // how it is monitored, and its enforced limits
    std::uint64_t environment_position = 0;  // it sees the `#!` lines up to this position
    std::string text;                        // the shell line
    std::vector<std::string> argv;  // if not empty: executed directly, by PATH (not with environment lines)
    EnvironmentChanges variables;   // e.g. WORK_QUEUE_TASK_INDEX
    bool sets_variables = false;    // some are the task's own: modules may read them when they are imported
    std::optional<std::uint64_t> output_limit;  // nullopt: LauncherOptions::output_limit
    std::optional<Call> call;                   // instead of text and argv: called in a child of the launcher
    std::string directory;                      // working directory; empty: the default one
    bool own_folder = false;                    // instead: the task's temporary folder, which is its sandbox
};

// An order with its number among all orders of this launcher.
struct OrderMessage {
    std::uint64_t serial = 0;
    Order order;
};

}  // namespace wq::node::process
