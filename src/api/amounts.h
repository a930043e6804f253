// Checks the resource amounts of tasks and categories, and the folder for summaries.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/model/first_allocation.h"
#include "engine/model/resources.h"
#include "work_queue/category.h"
#include "work_queue/task.h"

namespace wq::api {

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
