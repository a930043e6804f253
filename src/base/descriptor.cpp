#include "base/descriptor.h"

#include <dirent.h>
#include <fcntl.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace wq {

Pipe open_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return {};
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

bool set_nonblocking(const Descriptor& descriptor) {
    const int flags = ::fcntl(descriptor.get(), F_GETFL);
    return flags >= 0 && ::fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

void close_from(int first) {
    if (close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
    // For kernels before Linux 5.9. Closes them after reading the folder, because the folder's own descriptor
    // is among them.
    std::vector<int> open;
    {
        const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
        while (const dirent* entry = folder ? readdir(folder.get()) : nullptr)
            open.push_back(static_cast<int>(std::strtol(entry->d_name, nullptr, 10)));
    }
    for (const int fd : open)
        if (fd >= first) close(fd);
}

}  // namespace wq
