#include "functions/pool/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

namespace wq::functions::pool {

Descriptor make_shared_file(const char* name, std::size_t bytes) {
    Descriptor file(memfd_create(name, MFD_CLOEXEC));
    if (!file.valid()) return file;
    const int error = in_steps(bytes, [&](std::size_t from, std::size_t part) {
        const bool done = fallocate(file.get(), 0, static_cast<off_t>(from), static_cast<off_t>(part)) == 0;
        return done ? 0 : errno;
    });
    if (error == 0) return file;
    file.reset();
    errno = error;
    return file;
}

}  // namespace wq::functions::pool
