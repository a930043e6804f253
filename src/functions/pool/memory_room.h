// Whether memory is left for a block, by what the kernel says of the machine and of our control group.
// Without this check, a batch that is too large would not be an error: the kernel would kill some process for
// it.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace wq::functions::pool {

// Reads files of /proc and /sys, which takes about 50 us. Error: it names what is left.
Status check_memory_room(std::size_t bytes);

// What an executor with so many workers keeps of the memory of dropped arrays, in each of its processes: of
// all memory an eighth for all of them.
std::size_t memory_to_keep(std::size_t workers);

}  // namespace wq::functions::pool
