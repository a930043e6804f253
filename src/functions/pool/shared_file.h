// Files of memory that processes share by their descriptors. They have no name.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/descriptor.h"

namespace wq::functions::pool {

// Of `bytes` bytes, which are all there: no access ends in SIGBUS. Not valid: errno says why.
Descriptor make_shared_file(const char* name, std::size_t bytes);

// `allocate(from, bytes)` gives an errno, or 0. In Linux 6.1 and others a signal that comes during
// fallocate() undoes all that the call has allocated. So each call allocates a part, and a smaller one after
// a signal: a profiler's timer may be faster than 8 MB (2 ms). Returns the first other errno, or 0.
template <class Allocate>
int in_steps(std::size_t bytes, Allocate&& allocate) {
    constexpr std::size_t usual = std::size_t{8} << 20;
    constexpr std::size_t least = 4096;
    std::size_t step = usual;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t part = std::min(step, bytes - done);
        const int error = allocate(done, part);
        if (error == 0)
            done += part;
        else if (error == EINTR)
            step = std::max(step / 2, least);
        else
            return error;
    }
    return 0;
}

}  // namespace wq::functions::pool
