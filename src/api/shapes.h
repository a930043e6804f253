// From what a program's task says to what the core decides by.
#pragma once

#include "api/task_data.h"
#include "base/result.h"
#include "core/task.h"

namespace wq::api {

// Whether it can be a task at all. Error: usage.
Status check(TaskData& task);

// What it says, or what such a task is given that says nothing, nor its category.
core::Needs needs_of(const TaskData& task, bool category_speaks = false);

// But for its category, which has an id of the run.
core::Shape shape_of(const TaskData& task, bool category_speaks = false);

}  // namespace wq::api
