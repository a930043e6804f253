// Whether memory is left for a block, by what the kernel says of the machine and of our control group.
// Without this check, a batch that is too large would not be an error: the kernel would kill some process for
// it.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace wq::executor {

// Reads files of /proc and /sys, which takes about 50 us. Error: it names what is left.
Status check_memory_room(std::size_t bytes);

}  // namespace wq::executor
