#include "records/journal/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/read_write.h"

namespace wq::records::journal {

namespace {

std::string reason(int error_number) {
    return std::generic_category().message(error_number);
}

}  // namespace

Error write_error(const std::string& path, int error_number) {
    const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
    const bool forbidden = error_number == EACCES || error_number == EPERM || error_number == EROFS;
    return {forbidden ? ExitCode::not_allowed : ExitCode::interrupted,
            (full ? "disk full: " : "cannot write ") + path + ": " + reason(error_number)};
}

Error not_regular(const std::string& path, ExitCode code) {
    return {code, path + " is not a regular file"};
}

Result<AppendFile> AppendFile::open(const std::string& path, std::uint64_t keep) {
    AppendFile file;
    file.path_ = path;
    file.fd_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
    if (!file.fd_.valid()) return write_error(path, errno);
    struct stat status {};
    if (::fstat(file.fd_.get(), &status) != 0) return write_error(path, errno);
    if (!S_ISREG(status.st_mode)) return not_regular(path, ExitCode::not_allowed);
    file.size_ = static_cast<std::uint64_t>(status.st_size);
    if (keep < file.size_) {
        if (auto cut = file.cut(keep); !cut) return cut.error();
    }
    return file;
}

Result<std::optional<AppendFile>> AppendFile::create(const std::string& path) {
    AppendFile file;
    file.path_ = path;
    file.fd_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.fd_.valid()) return std::optional(std::move(file));
    if (errno == EEXIST) return std::optional<AppendFile>();
    return write_error(path, errno);
}

Status AppendFile::append(std::string_view bytes) {
    if (!write_all_at(fd_.get(), bytes, size_)) {
        const int error_number = errno;
        // If even this fails, the next append overwrites the rest, and a reader finds an incomplete tail.
        if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) return write_error(path_, errno);
        return write_error(path_, error_number);
    }
    size_ += bytes.size();
    return success();
}

Status AppendFile::sync() {
    if (::fdatasync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS) return write_error(path_, errno);
    return success();
}

Status AppendFile::rename(const std::string& path, bool synced) {
    if (synced) {
        if (auto done = sync(); !done) return done;
    }
    if (::rename(path_.c_str(), path.c_str()) != 0) return write_error(path, errno);
    path_ = path;
    return success();
}

Status AppendFile::still_there() const {
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) return write_error(path_, errno);
    if (status.st_nlink == 0) return write_error(path_, ENOENT);
    return success();
}

Status AppendFile::cut(std::uint64_t size) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return write_error(path_, errno);
    size_ = std::min(size, size_);
    return success();
}

Status write_atomically(const std::string& path, std::string_view bytes, bool synced) {
    const std::string part = path + ".part";
    auto file = AppendFile::open(part, 0);
    if (!file) return file.error();
    auto written = file->append(bytes);
    if (written) written = file->rename(path, synced);
    if (!written) ::unlink(part.c_str());
    return written;
}

Result<std::string> read_whole(const std::string& path) {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return Error{ExitCode::bad_input, "cannot read " + path + ": " + reason(errno)};
    std::string bytes;
    if (!read_all(fd.get(), bytes))
        return Error{ExitCode::bad_input, "cannot read " + path + ": " + reason(errno)};
    return bytes;
}

}  // namespace wq::records::journal
