#include "shared_list/store/whole_io.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/read_write.h"
#include "base/units.h"

namespace wq::shared_list::store {

namespace {

constexpr std::uint64_t piece = 1u << 20;

}  // namespace

bool read_range(int file, std::uint64_t from, std::uint64_t to, std::string& bytes) {
    bytes.clear();
    while (from < to) {
        const std::size_t had = bytes.size();
        bytes.resize(had + std::min(to - from, piece));
        const ssize_t got = ::pread(file, bytes.data() + had, bytes.size() - had, static_cast<off_t>(from));
        bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) return true;
        from += static_cast<std::uint64_t>(got);
    }
    return true;
}

bool copy_range(int source, std::uint64_t from, std::uint64_t to, int file) {
    while (from < to) {
        auto at = static_cast<off_t>(from);
        const ssize_t copied = ::copy_file_range(source, &at, file, nullptr, to - from, 0);
        if (copied <= 0) break;  // not between these; or a full disk, which the way below finds
        from += static_cast<std::uint64_t>(copied);
    }
    std::string bytes;
    while (from < to) {
        if (!read_range(source, from, std::min(to, from + piece), bytes)) return false;
        if (bytes.empty()) {
            errno = EIO;  // the file became shorter
            return false;
        }
        if (!write_all(file, bytes)) return false;
        from += bytes.size();
    }
    return true;
}

namespace {

constexpr std::string_view nothing_changed = "nothing was changed: ";

}  // namespace

std::string remedy(int code) {
    switch (code) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return std::string(nothing_changed) + "make room on that disk";
        case EACCES:
        case EPERM:
            return "get write permission for it and its folder, or use a copy of the list";
        case EROFS:
            return "use a copy of the list on a disk that can be written";
        case ENOENT:
        case ENOTDIR:
            return "make its folder first";
        case ENOLCK:
        case ENOSYS:
        case EOPNOTSUPP:
            return "its file system has no locks: put the list on a local disk of one machine and name it as "
                   "HOST:FILE";
        default:
            return {};
    }
}

Error problem(const std::string& what, const std::string& path, int code) {
    const bool denied = code == EACCES || code == EPERM || code == EROFS;
    const std::string help = remedy(code);
    return {denied ? ExitCode::not_allowed : ExitCode::bad_input,
            "cannot " + what + " " + line_for_message(path, 400) + ": " + std::strerror(code) +
                (help.empty() ? "" : "; " + help)};
}

Error unfinished(Error error) {
    error.code = ExitCode::unreachable;
    if (const std::size_t at = error.message.find(nothing_changed); at != std::string::npos)
        error.message.erase(at, nothing_changed.size());
    return error;
}

}  // namespace wq::shared_list::store
