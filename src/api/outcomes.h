// Translates the end of an attempt to Work Queue's results.
#pragma once

#include "engine/model/outcome.h"
#include "api/task_data.h"

namespace wq::program_manager {

TaskUsage usage_of(const core::Usage& measured);

// Fills in result, exit and return status, reason, start and usage of a task of this kind.
void describe_end(const core::Outcome& outcome, TaskKind kind, TaskReport& report);

}  // namespace wq::program_manager
