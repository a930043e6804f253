// Translates the end of an attempt to Work Queue's results.
#pragma once

#include "api/task_data.h"
#include "engine/model/outcome.h"

namespace wq::api {

TaskUsage usage_of(const engine::model::Usage& measured);

// Fills in result, exit and return status, reason, start and usage of a task of this kind.
void describe_end(const engine::model::Outcome& outcome, TaskKind kind, TaskReport& report);

}  // namespace wq::api
