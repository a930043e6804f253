#include "records/journal/append_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
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

Status AppendFile::rename(const std::string& path, Sync when) {
    if (when == Sync::first) {
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

Status write_atomically(const std::string& path, std::string_view bytes, Sync sync) {
    const std::string part = path + ".part";
    auto file = AppendFile::open(part, 0);
    if (!file) return file.error();
    auto written = file->append(bytes);
    if (written) written = file->rename(path, sync);
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

namespace {

template <class Number>
void append_number(std::string& out, Number value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out.append(digits, static_cast<std::size_t>(end - digits));
}

}  // namespace

namespace {

// The end of the last complete line of a log that begins with the heading; 0 without heading or file.
Result<std::uint64_t> end_of_lines(const std::string& path, std::string_view heading) {
    if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::uint64_t{0};
    const auto file = MappedFile::open(path);
    if (!file) return Error{ExitCode::usage, file.error().message};
    const std::string_view bytes = file->bytes();
    // A crash may have truncated the heading itself.
    if (!bytes.starts_with(heading) && !heading.starts_with(bytes)) {
        return Error{ExitCode::usage, path + " is another kind of file: it does not begin with `" +
                                          std::string(heading.substr(0, heading.find_first_of(" \t\n", 2))) +
                                          " ...`; name a new file"};
    }
    if (bytes.size() < heading.size()) return std::uint64_t{0};
    const auto at = bytes.rfind('\n');
    return std::uint64_t{at == std::string_view::npos ? 0 : at + 1};
}

}  // namespace

Status TextLog::check(const std::string& path, std::string_view heading) {
    const auto end = end_of_lines(path, heading);
    return end ? success() : Status(end.error());
}

Result<TextLog> TextLog::open(const std::string& path, std::string_view heading) {
    const auto end = end_of_lines(path, heading);
    if (!end) return end.error();
    auto file = AppendFile::open(path, *end);
    if (!file) return file.error();
    TextLog log(std::move(*file));
    if (log.file_.size() == 0) log.waiting_ = heading;
    return log;
}

Status TextLog::write() {
    if (!is_open() || waiting_.empty()) {
        waiting_.clear();
        return success();
    }
    auto written = file_.append(waiting_);
    if (written) {
        waiting_.clear();
    } else if (waiting_.size() > most_waiting) {
        return close();
    }
    return written;
}

Status TextLog::rename(const std::string& path) {
    auto done = write();
    if (done) done = file_.rename(path, Sync::never);
    if (done) return done;
    waiting_.clear();
    ended_ = true;
    return done;
}

Status TextLog::close() {
    if (!is_open()) return success();
    auto written = waiting_.empty() ? success() : file_.append(waiting_);
    waiting_.clear();
    ended_ = true;
    if (written) return written;
    return Error{ExitCode::interrupted, written.error().message + "; its last lines are missing"};
}

void put_number(std::string& out, std::int64_t value) {
    append_number(out, value);
}
void put_number(std::string& out, std::uint64_t value) {
    append_number(out, value);
}

void put_seconds(std::string& out, std::int64_t micros, int digits) {
    if (micros < 0) out += '-', micros = -micros;
    append_number(out, micros / 1'000'000);
    char fraction[8];
    std::int64_t rest = micros % 1'000'000;
    for (int i = 5; i >= 0; --i, rest /= 10) fraction[i] = static_cast<char>('0' + rest % 10);
    out += '.';
    out.append(fraction, static_cast<std::size_t>(digits));
}

void put_word(std::string& out, std::string_view text, char replacement) {
    for (const char c : text) out += static_cast<unsigned char>(c) <= ' ' || c == 0x7F ? replacement : c;
}

Result<MappedFile> MappedFile::open(const std::string& path) {
    const auto refused = [&](int error_number) {
        return Error{ExitCode::bad_input,
                     "cannot read " + path + ": " + std::generic_category().message(error_number)};
    };
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return refused(errno);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return refused(errno);
    if (S_ISDIR(status.st_mode)) return refused(EISDIR);
    if (!S_ISREG(status.st_mode)) return not_regular(path, ExitCode::bad_input);
    auto mapped = of(fd.get());
    return mapped ? std::move(mapped) : refused(errno);
}

Result<MappedFile> MappedFile::of(int file) {
    struct stat status {};
    if (::fstat(file, &status) != 0) return write_error("a file", errno);
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) return MappedFile(std::string_view());
    void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED) return write_error("a file", errno);
    return MappedFile(std::string_view(static_cast<const char*>(address), size));
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace wq::records::journal
