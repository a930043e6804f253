// What a manager tells a program that asks for its status: unfinished tasks by shape, and workers.
#pragma once

#include <string>
#include <vector>

#include "manager/router.h"
#include "manager/worker_sessions.h"
#include "net/messages/messages.h"

namespace wq::manager {

// `categories`: names by CategoryId. Visits all shapes, workers and leases.
net::messages::StatusReport status_report(const Router& router, const std::vector<std::string>& categories,
                                          const WorkerSessions& sessions);

}  // namespace wq::manager
