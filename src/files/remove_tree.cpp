#include "files/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string_view>

#include "base/descriptor.h"

namespace wq::files {

namespace {

Descriptor open_folder(int at, const std::string& name) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Descriptor folder(::openat(at, name.c_str(), flags));
    if (!folder.valid() && errno == EACCES && ::fchmodat(at, name.c_str(), 0700, 0) == 0)
        folder.reset(::openat(at, name.c_str(), flags));
    return folder;
}

}  // namespace

void remove_tree(int at, const std::string& name) {
    std::size_t most = std::numeric_limits<std::size_t>::max();
    remove_some(at, name, most);
}

bool remove_some(int at, const std::string& name, std::size_t& most) {
    if (most == 0) return false;
    if (::unlinkat(at, name.c_str(), 0) == 0) return --most, true;
    if (errno != EISDIR && errno != EPERM) return true;
    Descriptor folder = open_folder(at, name);
    if (!folder.valid()) return true;
    ::fchmod(folder.get(), 0700);
    const int descriptor = folder.release();
    bool all = true;
    if (DIR* const stream = ::fdopendir(descriptor)) {
        while (const dirent* entry = all ? ::readdir(stream) : nullptr) {
            const std::string_view child = entry->d_name;
            if (child != "." && child != "..") all = remove_some(descriptor, entry->d_name, most);
        }
        ::closedir(stream);
    } else {
        ::close(descriptor);
    }
    if (all && ::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 && most > 0) --most;
    return all;
}

}  // namespace wq::files
