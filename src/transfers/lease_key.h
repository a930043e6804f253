// What names a lease, and how a worker is told something.
#pragma once

#include <functional>
#include <utility>

#include "base/ids.h"
#include "wire/messages.h"

namespace wq::transfers {

using LeaseKey = std::pair<TaskId, Attempt>;
using TellWorker = std::function<void(WorkerId, const wire::Message&)>;

}  // namespace wq::transfers
