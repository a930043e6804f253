#include "base/descriptor.h"

#include <dirent.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace wq {

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
