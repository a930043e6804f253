// Translates the end of an attempt to Work Queue's results.
#pragma once

#include "api/task_data.h"
#include "core/outcome.h"

namespace wq::api {

// Fills in result, exit and return status, reason, start and usage of a task of this kind.
void describe_end(const core::Outcome& outcome, TaskKind kind, TaskReport& report);

}  // namespace wq::api
