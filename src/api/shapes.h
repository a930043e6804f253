// Converts a program's task to the shape that the core schedules by.
#pragma once

#include "api/task_data.h"
#include "base/result.h"
#include "engine/model/task.h"

namespace wq::api {

// Whether it can run as a task. Error: usage.
Status check(TaskData& task);

// Without its category, whose id belongs to the run. `category_speaks`: the category has resource settings.
engine::model::Shape shape_of(const TaskData& task, bool category_speaks);

}  // namespace wq::api
