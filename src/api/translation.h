// Converts a program's task to the shape that the core schedules by.
#pragma once

#include "api/task_data.h"
#include "base/result.h"
#include "engine/model/outcome.h"
#include "engine/model/task.h"

namespace wq::api {

// Whether it can run as a task. Error: usage.
Status check(TaskData& task);

// Without its category, whose id belongs to the run. `category_speaks`: the category has resource settings.
engine::model::Shape shape_of(const TaskData& task, bool category_speaks);

// Translates the end of an attempt to Work Queue's results.

TaskUsage usage_of(const engine::model::Usage& measured);

// Fills in result, exit and return status, reason, start and usage of a task of this kind.
void describe_end(const engine::model::Outcome& outcome, TaskKind kind, TaskReport& report);

}  // namespace wq::api
