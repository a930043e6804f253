#include "files/trees/watched_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"
#include "base/read_write.h"

namespace wq::files::trees {

// A file that does not exist yet counts as not grown.
FileGrowth growth_of(const std::string& path, std::uint64_t offset, std::size_t most) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size < offset) return {{}, true};
    FileGrowth growth;
    growth.bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size - offset, most)));
    const ssize_t got =
        ::pread(file.get(), growth.bytes.data(), growth.bytes.size(), static_cast<off_t>(offset));
    growth.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return growth;
}

Trouble write_growth(const std::string& path, std::uint64_t offset, std::string_view bytes) {
    int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
    if (offset == 0) {
        std::error_code error;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
        if (::unlink(path.c_str()) != 0 && errno != ENOENT) return problem_of_errno(path, errno);
        flags |= O_CREAT | O_EXCL;
    }
    const Descriptor file(::open(path.c_str(), flags, 0666));
    if (!file.valid()) return problem_of_errno(path, errno);
    if (!write_all_at(file.get(), bytes, offset)) return problem_of_errno(path, errno);
    return std::nullopt;
}

}  // namespace wq::files::trees
