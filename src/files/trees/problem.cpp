#include "files/trees/problem.h"

#include <cerrno>
#include <cstring>

namespace wq::files::trees {

namespace {

Problem::Kind kind_of(int code) {
    switch (code) {
        case ENOENT:
        case ENOTDIR:
            return Problem::Kind::missing;
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return Problem::Kind::full;
        default:
            return Problem::Kind::unreadable;
    }
}

}  // namespace

Problem problem_of_errno(const std::string& path, int code) {
    return {kind_of(code), path + ": " + std::strerror(code)};
}

}  // namespace wq::files::trees
