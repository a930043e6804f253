#include "shared_list/store/problem.h"

#include <cstring>
#include <string_view>

#include "base/units.h"

namespace wq::shared_list::store {

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
