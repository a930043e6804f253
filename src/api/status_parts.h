// Collects what a queue's status tells, for C and Python.
#pragma once

#include "program_manager/queue_status.h"
#include "work_queue/manager.h"

namespace wq::api {

program_manager::StatusParts status_parts(const Manager& manager);

}  // namespace wq::api
