#include "executor/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace wq::executor {

namespace {

// A signal that comes during fallocate() undoes all that the call has allocated. So each call allocates a
// part, and a smaller one after a signal: a profiler's timer may be faster than 8 MB (2 ms).
int allocate(int file, std::size_t bytes) {
    constexpr std::size_t usual = std::size_t{8} << 20;
    constexpr std::size_t least = 4096;
    std::size_t step = usual;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t part = std::min(step, bytes - done);
        if (fallocate(file, 0, static_cast<off_t>(done), static_cast<off_t>(part)) == 0)
            done += part;
        else if (errno == EINTR)
            step = std::max(step / 2, least);
        else
            return errno;
    }
    return 0;
}

}  // namespace

Descriptor make_shared_file(const char* name, std::size_t bytes) {
    Descriptor file(memfd_create(name, MFD_CLOEXEC));
    if (!file.valid()) return file;
    const int error = allocate(file.get(), bytes);
    if (error == 0) return file;
    file.reset();
    errno = error;
    return file;
}

}  // namespace wq::executor
