// A worker: takes slices of a queue elsewhere, which it finds by a contact file.
#pragma once

#include <memory>

#include "slices/queue/member.h"

namespace wq::slices::queue {

// Throws SetupError.
std::unique_ptr<Member> open_as_worker(const SliceWorkerOptions& options);

}  // namespace wq::slices::queue
