#include "shared_list/store/new_list.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/read_write.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/problem.h"
#include "shared_list/store/whole_io.h"

namespace wq::shared_list::store {

namespace {

constexpr mode_t permissions = 07777;

// A file system or the system's policy gives these to every file by itself.
bool is_given_by_system(std::string_view name) {
    return name.starts_with("security.") || name.starts_with("trusted.") || name == "system.nfs4_acl";
}

bool copy_attribute(int from, const char* name, int to) {
    const ssize_t bytes = ::fgetxattr(from, name, nullptr, 0);
    if (bytes < 0) return is_given_by_system(name);
    std::string value(static_cast<std::size_t>(bytes), '\0');
    const ssize_t got = ::fgetxattr(from, name, value.data(), value.size());
    if (got == bytes && ::fsetxattr(to, name, value.data(), value.size(), 0) == 0) return true;
    return is_given_by_system(name);
}

bool copy_extended(int from, int to) {
    const ssize_t bytes = ::flistxattr(from, nullptr, 0);
    if (bytes < 0) return errno == ENOTSUP;  // the file system has none
    std::string names(static_cast<std::size_t>(bytes), '\0');
    if (::flistxattr(from, names.data(), names.size()) != bytes) return false;
    bool all = true;
    for (std::size_t at = 0; at < names.size(); at += std::string_view(names.data() + at).size() + 1)
        all = copy_attribute(from, names.data() + at, to) && all;
    return all;
}

}  // namespace

bool copy_attributes(int from, const struct stat& of, int to) {
    struct stat made {};
    if (::fstat(to, &made) != 0) return false;
    if ((made.st_uid != of.st_uid || made.st_gid != of.st_gid) && ::fchown(to, of.st_uid, of.st_gid) != 0)
        return false;
    // After the owner, whose change clears bits of the mode; before the ACL, which sets its group's bits.
    return ::fchmod(to, of.st_mode & permissions) == 0 && copy_extended(from, to);
}

namespace {

bool write_spliced(int source, std::uint64_t bytes, const std::vector<text::Splice>& splices, int to) {
    std::uint64_t at = 0;
    for (const auto& splice : splices) {
        if (!copy_range(source, at, splice.offset, to) || !write_all(to, splice.text)) return false;
        at = splice.offset + splice.length;
    }
    return copy_range(source, at, bytes, to);
}

bool are_ascending(std::uint64_t bytes, const std::vector<text::Splice>& splices) {
    std::uint64_t at = 0;
    for (const auto& splice : splices) {
        if (splice.offset < at || splice.offset > bytes || splice.length > bytes - splice.offset)
            return false;
        at = splice.offset + splice.length;
    }
    return true;
}

std::string in_place_name(const Paths& paths, const EditLog& log) {
    return paths.in_place + "." + log.name() + "." + std::to_string(log.bytes()) + ".";
}

std::uint64_t bytes_in_name(const std::string& in_place) {
    return std::strtoull(in_place.c_str() + in_place.rfind('.') + 1, nullptr, 10);
}

struct Sizes {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
};

// What somebody appended to a list that was to be written over, or was in part or wholly.
bool read_appended(int list, int source, const Sizes& sizes, std::string& more) {
    struct stat now {};
    if (::fstat(list, &now) != 0) return false;
    const auto bytes = static_cast<std::uint64_t>(now.st_size);
    std::uint64_t from = sizes.before;
    if (bytes > sizes.before && sizes.after > sizes.before) {
        const std::uint64_t end = std::min(bytes, sizes.after);
        std::string grown;
        std::string copy;
        if (!read_range(list, from, end, grown) || !read_range(source, from, end, copy)) return false;
        if (grown == copy) from = end;
    }
    return read_range(list, from, bytes, more);
}

// Over the old bytes, and only then cut: a full disk or a crash leaves as much as possible.
bool copy_over(int source, std::uint64_t bytes, const std::string& more, int list) {
    const auto all = static_cast<off_t>(bytes + more.size());
    // Room first; a file system that cannot do that finds it missing while it writes.
    if (all > 0 && ::fallocate(list, FALLOC_FL_KEEP_SIZE, 0, all) != 0 &&
        (errno == ENOSPC || errno == EDQUOT))
        return false;
    return ::lseek(list, 0, SEEK_SET) == 0 && copy_range(source, 0, bytes, list) && write_all(list, more) &&
           ::ftruncate(list, all) == 0 && ::fsync(list) == 0;
}

}  // namespace

Result<NewList> NewList::write(const Paths& paths, const struct stat& list,
                               const std::vector<text::Splice>& splices) {
    const auto bytes = static_cast<std::uint64_t>(list.st_size);
    if (!are_ascending(bytes, splices))
        return Error{ExitCode::internal, "changes of the list that do not fit to it"};
    const Descriptor source(::open(paths.file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source.valid()) return problem("read", paths.file);
    const int flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    const Descriptor file(::open(paths.fresh.c_str(), flags, 0600));
    if (!file.valid()) return problem("write", paths.fresh);
    struct stat made {};
    const bool wrote = write_spliced(source.get(), bytes, splices, file.get());
    const bool has_all = wrote && copy_attributes(source.get(), list, file.get());
    if (!wrote || ::fsync(file.get()) != 0 || ::fstat(file.get(), &made) != 0) {
        const int code = errno;
        ::unlink(paths.fresh.c_str());
        return problem("write", paths.fresh, code);
    }
    return NewList(paths, identity_of(made), has_all);
}

Status NewList::put_in_place() const {
    if (::rename(paths_->fresh.c_str(), paths_->file.c_str()) != 0) return problem("replace", paths_->file);
    sync_folder(paths_->directory);
    return success();
}

void NewList::drop() const {
    ::unlink(paths_->fresh.c_str());
}

std::string left_aside(const Paths& paths) {
    const auto fresh = stat_of(paths.fresh);
    return fresh ? identity_of(*fresh) : std::string();
}

std::optional<std::string> in_place_file(const Paths& paths, const EditLog& log) {
    const std::string begin = in_place_name(paths, log);
    std::error_code error;
    for (std::filesystem::directory_iterator at(paths.folder, error), end; !error && at != end;
         at.increment(error))
        if (at->path().string().starts_with(begin) && at->is_regular_file(error)) return at->path().string();
    return std::nullopt;
}

Result<std::string> overwrite(const Paths& paths, std::uint64_t list_bytes, EditLog& log) {
    const std::string in_place = in_place_name(paths, log) + std::to_string(list_bytes);
    if (::rename(paths.fresh.c_str(), in_place.c_str()) != 0)
        return unfinished(problem("rename", paths.fresh));
    sync_folder(paths.folder);
    return finish_overwriting(paths, in_place, log);
}

Result<std::string> finish_overwriting(const Paths& paths, const std::string& in_place, EditLog& log) {
    const Descriptor source(::open(in_place.c_str(), O_RDONLY | O_CLOEXEC));
    const Descriptor list(::open(paths.file.c_str(), O_RDWR | O_CLOEXEC));
    struct stat whole {};
    struct stat made {};
    if (!source.valid() || ::fstat(source.get(), &whole) != 0) return unfinished(problem("read", in_place));
    const auto bytes = static_cast<std::uint64_t>(whole.st_size);
    std::string more;
    if (!list.valid() || !read_appended(list.get(), source.get(), {bytes_in_name(in_place), bytes}, more) ||
        !copy_over(source.get(), bytes, more, list.get()) || ::fstat(list.get(), &made) != 0)
        // What it says may be made already, since the next exchange goes on with it.
        return unfinished({{}, problem("complete", paths.file).message + "; all of it is in " + in_place});
    // From now on, what is beyond the new list was appended.
    const std::string done = in_place_name(paths, log) + std::to_string(bytes);
    if (::rename(in_place.c_str(), done.c_str()) != 0) return unfinished(problem("rename", in_place));
    // What was appended just now is no part of this list, so that it is seen.
    made.st_size = whole.st_size;
    std::string identity = identity_of(made);
    if (const Status logged = log.append("FILE " + identity + "\n"); !logged)
        return unfinished(logged.error());
    if (const Status synced = log.sync(); !synced) return synced.error();
    ::unlink(done.c_str());  // if it stays, nobody takes it: the log has grown
    return identity;
}

}  // namespace wq::shared_list::store
