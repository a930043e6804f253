// The identity of a lease, and a way to send a message to a worker.
#pragma once

#include <functional>
#include <utility>

#include "base/ids.h"
#include "net/messages/messages.h"

namespace wq::files::transfers {

using LeaseKey = std::pair<TaskId, Attempt>;
using TellWorker = std::function<void(WorkerId, const net::messages::Message&)>;

}  // namespace wq::files::transfers
