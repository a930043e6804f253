#include "files/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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
    if (::unlinkat(at, name.c_str(), 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
    Descriptor folder = open_folder(at, name);
    if (!folder.valid()) return;
    ::fchmod(folder.get(), 0700);
    const int descriptor = folder.release();
    if (DIR* const stream = ::fdopendir(descriptor)) {
        while (const dirent* entry = ::readdir(stream)) {
            const std::string_view child = entry->d_name;
            if (child != "." && child != "..") remove_tree(descriptor, entry->d_name);
        }
        ::closedir(stream);
    } else {
        ::close(descriptor);
    }
    ::unlinkat(at, name.c_str(), AT_REMOVEDIR);
}

}  // namespace wq::files
