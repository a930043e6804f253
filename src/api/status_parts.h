// A program's own listing of its queue, for C and Python.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/queue_status.h"
#include "work_queue/manager.h"

namespace wq::api {

// Tasks of the program, in any order, with their ids at the manager.
using TasksOfProgram = std::vector<std::pair<std::int64_t, manager::status::TaskOfStatus>>;

// An array of records; `what` is none of the shapes.
std::string status_as_json(net::messages::StatusOf what, const Manager& manager,
                           manager::status::QueueOfStatus queue, TasksOfProgram tasks);

}  // namespace wq::api
