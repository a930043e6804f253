// Converts a program's task to the shape that the core schedules by.
#pragma once

#include <string>

#include "api/task_data.h"
#include "base/result.h"
#include "engine/model/first_allocation.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"
#include "engine/model/task.h"
#include "work_queue/category.h"
#include "work_queue/task.h"

namespace wq::api {

// Whether it can run as a task. Error: usage.
Status check(TaskData& task);

// Without its category, whose id belongs to the run. `category_speaks`: the category has resource settings.
engine::model::Shape shape_of(const TaskData& task, bool category_speaks);

// Translates the end of an attempt to Work Queue's results.

TaskUsage usage_of(const engine::model::Usage& measured);

// Fills in result, exit and return status, reason, start and usage of a task of this kind.
void describe_end(const engine::model::Outcome& outcome, TaskKind kind, TaskReport& report);

// Checks the resource amounts of tasks and categories, and the folder for summaries.

// Checks that a machine could have these amounts. Error (usage): "cores(-5): give a number ...".
Status check_amounts(const TaskResources& said);

// Needs amounts that check_amounts() accepts; 0 means not specified, as in Work Queue.
engine::model::Needs needs_of(const TaskResources& said);
engine::model::Sizes sizes_of(const TaskResources& said);

// Error (usage): there is no mode with this number or name.
Result<engine::model::AllocationMode> mode_of(AllocationMode mode);
Result<engine::model::ResourceKind> resource_named(const std::string& name);

// Returns the absolute path of a folder for summaries, and creates it if needed. Error (usage): it cannot be
// written.
Result<std::string> summaries_folder(const std::string& folder);

}  // namespace wq::api
