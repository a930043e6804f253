#include "base/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <memory>

#include "base/descriptor.h"

namespace wq {

namespace {

Descriptor open_folder(int at, const std::string& name) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Descriptor folder(::openat(at, name.c_str(), flags));
    if (!folder.valid() && errno == EACCES && ::fchmodat(at, name.c_str(), 0700, 0) == 0)
        folder.reset(::openat(at, name.c_str(), flags));
    if (folder.valid()) ::fchmod(folder.get(), 0700);
    return folder;
}

// Calls `visit` with each name in `folder` until one call returns false; then returns false.
template <class Visit>
bool for_each_in(Descriptor folder, const Visit& visit) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.get()), ::closedir);
    if (!stream) return true;
    const int descriptor = folder.release();  // the stream now owns it
    while (const dirent* entry = ::readdir(stream.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != ".." && !visit(descriptor, entry->d_name)) return false;
    }
    return true;
}

}  // namespace

void remove_tree(int at, const std::string& name) {
    std::size_t most = std::numeric_limits<std::size_t>::max();
    remove_some(at, name, most);
}

bool remove_some(int at, const std::string& name, std::size_t& most) {
    if (most == 0) return false;
    if (::unlinkat(at, name.c_str(), 0) == 0) {
        --most;
        return true;
    }
    if (errno != EISDIR && errno != EPERM) return true;
    Descriptor folder = open_folder(at, name);
    if (!folder.valid()) return true;
    const bool all = for_each_in(std::move(folder),
                                 [&](int in, const char* child) { return remove_some(in, child, most); });
    if (all && ::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 && most > 0) --most;
    return all;
}

void remove_folder(const std::string& path, std::string_view last) {
    for_each_in(open_folder(AT_FDCWD, path), [&](int in, const char* name) {
        if (name != last) remove_tree(in, name);
        return true;
    });
    const bool only_last =
        for_each_in(open_folder(AT_FDCWD, path), [&](int, const char* name) { return name == last; });
    if (only_last) remove_tree(AT_FDCWD, path);
}

}  // namespace wq
