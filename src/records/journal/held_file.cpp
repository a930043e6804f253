#include "records/journal/held_file.h"

#include <fcntl.h>

#include <cerrno>

namespace wq::records::journal {

namespace {

Error held_by(const std::string& path, pid_t process) {
    return {ExitCode::interrupted, "another run saves to " + path +
                                       (process > 0 ? " (process " + std::to_string(process) + ")" : "") +
                                       "; end that run first, or name another file"};
}

}  // namespace

Status refuse_if_held(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct flock lock {};
    lock.l_type = F_WRLCK;
    const bool known = file.valid() && ::fcntl(file.get(), F_GETLK, &lock) == 0;
    return known && lock.l_type != F_UNLCK ? Status(held_by(path, lock.l_pid)) : success();
}

Result<Descriptor> hold_file(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid()) return write_error(path, errno);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    if (::fcntl(file.get(), F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN))
        return held_by(path, 0);
    return file;
}

}  // namespace wq::records::journal
