// Files of memory that processes share by their descriptors. They have no name.
#pragma once

#include <cstddef>

#include "base/descriptor.h"

namespace wq::executor {

// Of `bytes` bytes, which are all there: no access ends in SIGBUS. Not valid: errno says why.
Descriptor make_shared_file(const char* name, std::size_t bytes);

}  // namespace wq::executor
