// From what a program's task says to what the core decides by.
#pragma once

#include "api/task_data.h"
#include "base/result.h"
#include "core/task.h"

namespace wq::api {

// Whether it can be a task at all. Error: usage.
Status check(TaskData& task);

// But for its category, which has an id of the run; `category_speaks`: it says something of what its tasks
// get.
core::Shape shape_of(const TaskData& task, bool category_speaks);

}  // namespace wq::api
