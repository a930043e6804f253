#include "slices/sources/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/units.h"

namespace wq::slices::sources {

namespace {

constexpr std::size_t longest_name = 1000;

Error cannot_read(const std::string& path, const std::string& why) {
    return {ExitCode::bad_input, "cannot read " + line_for_message(path, longest_name) + ": " + why};
}

Error changed(const std::string& name, const std::string& now, const std::string& then) {
    return {ExitCode::bad_input,
            line_for_message(name, longest_name) + " changed since the plan: " + now + ", " + then + " then"};
}

}  // namespace

Status check_unchanged(const std::string& name, const SourceStamp& planned, const SourceStamp& now) {
    const bool all_there = planned.growing ? now.records >= planned.records : now.records == planned.records;
    if (!all_there)
        return changed(name, "it has " + count_of(now.records, "record"), format_count(planned.records));
    if (planned.growing) return success();
    if (now.bytes != planned.bytes)
        return changed(name, "it has " + count_of(now.bytes, "byte"), format_count(planned.bytes));
    if (now.modified_ns != planned.modified_ns)
        return Error{ExitCode::bad_input, line_for_message(name, longest_name) +
                                              " changed since the plan: it was written to, though its size "
                                              "is the same"};
    return success();
}

Result<SourceFile> SourceFile::open(const std::string& path, const std::optional<SourceStamp>& planned) {
    if (path.find('\0') != std::string::npos) return cannot_read(path, "its name has a NUL byte");
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!descriptor.valid() || ::fstat(descriptor.get(), &status) != 0)
        return cannot_read(path, std::strerror(errno));
    if (S_ISDIR(status.st_mode)) return cannot_read(path, "it is a folder");
    if (!S_ISREG(status.st_mode)) return cannot_read(path, "it is not a regular file");
    SourceStamp now;
    now.bytes = static_cast<std::uint64_t>(status.st_size);
    now.modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    if (planned) {
        now.records = planned->records;  // whoever counts them checks them
        if (const Status same = check_unchanged(path, *planned, now); !same) return same.error();
    }
    return SourceFile(path, std::move(descriptor), now);
}

SourceStamp SourceFile::stamp(std::uint64_t records) const {
    SourceStamp stamp = stamp_;
    stamp.records = records;
    return stamp;
}

Status SourceFile::read(std::uint64_t offset, std::span<char> to) const {
    while (!to.empty()) {
        const ssize_t got = ::pread(descriptor_.get(), to.data(), to.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return unreadable(std::strerror(errno));
        if (got == 0) return unreadable("it was truncated meanwhile; it had " + count_of(bytes(), "byte"));
        offset += static_cast<std::uint64_t>(got);
        to = to.subspan(static_cast<std::size_t>(got));
    }
    return success();
}

Error SourceFile::unreadable(const std::string& why) const {
    return cannot_read(path_, why);
}

}  // namespace wq::slices::sources
