// What a program says of resources, of tasks and of categories, and where it wants to read what they took.
#pragma once

#include <string>

#include "base/result.h"
#include "core/first_allocation.h"
#include "core/resources.h"
#include "core/sizes.h"
#include "work_queue/category.h"
#include "work_queue/task.h"

namespace wq::api {

// Whether a machine could have it. Error (usage): "cores(-5): give a number ...".
Status check_amounts(const TaskResources& said);

// Of what check_amounts() lets through; 0 says nothing, as in Work Queue.
core::Needs needs_of(const TaskResources& said);
core::Sizes sizes_of(const TaskResources& said);

// Errors (usage): there is none of that number, or name.
Result<core::AllocationMode> mode_of(AllocationMode mode);
Result<core::ResourceKind> resource_named(const std::string& name);

// A folder for summaries, by its absolute path; it is made where it is not there. Error (usage): it cannot be
// written.
Result<std::string> summaries_folder(const std::string& folder);

}  // namespace wq::api
