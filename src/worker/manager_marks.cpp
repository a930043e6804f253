#include "worker/manager_marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/descriptor.h"

namespace wq::worker {

namespace {

// A mark is short and in a regular file; anything else at the path is not a mark.
bool is_in(const std::string& path, int flags, const std::string& mark) {
    const Descriptor file(path.empty() ? -1
                                       : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    std::array<char, 64> found;
    const ssize_t size = ::read(file.get(), found.data(), found.size());
    return size > 0 &&
           std::string_view(found.data(), static_cast<std::size_t>(size)).starts_with(mark + "\n");
}

}  // namespace

bool sees_file(const std::string& path, const std::string& mark) {
    return is_in(path, O_NOFOLLOW, mark);
}

// The kernel shows the descriptors of a process as links.
bool sees_memory(const std::string& path, const std::string& mark) {
    return path.starts_with("/proc/") && is_in(path, 0, mark);
}

}  // namespace wq::worker
