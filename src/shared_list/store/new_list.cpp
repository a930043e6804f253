#include "shared_list/store/new_list.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/read_write.h"
#include "base/units.h"
#include "shared_list/store/list_place.h"
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

namespace {

// As in ssh/master/rewrite.sh. So many may stay for ever,
constexpr std::size_t few_files = 32;
constexpr std::uint64_t few_bytes = 64 << 20;
// more for so long,
constexpr std::int64_t long_seconds = 600;
// and these are too many: each is looked at during most exchanges.
constexpr std::size_t most_files = 512;
constexpr std::uint64_t most_bytes = 256 << 20;
constexpr std::uint64_t most_at_once = 16 << 20;

// Takes a number and the character after it from the front; `after` 0: the end.
std::optional<std::uint64_t> take_number(std::string_view& text, char after) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (after == '\0') return text.empty() ? std::optional(value) : std::nullopt;
    if (text.empty() || text[0] != after) return std::nullopt;
    text.remove_prefix(1);
    return value;
}

// The bytes of a file before `end` that are behind its last line end there.
bool read_begun_line(int file, std::uint64_t end, std::string& begun) {
    for (std::uint64_t most = 1;; most = std::max<std::uint64_t>(64 << 10, 2 * most)) {
        const std::uint64_t from = end - std::min(end, most);
        begun.clear();
        if (!read_range(file, from, end, begun)) return false;
        const std::size_t line_end = begun.rfind('\n');
        if (line_end != std::string::npos) begun.erase(0, line_end + 1);
        if (line_end != std::string::npos || from == 0) return true;
    }
}

std::uint64_t bytes_of(const struct stat& file) {
    return static_cast<std::uint64_t>(file.st_size);
}

}  // namespace

OldFiles::OldFiles(const Paths& paths, const struct stat& list) : paths_(paths), list_(list) {
    std::error_code error;
    for (std::filesystem::directory_iterator at(paths.old, error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename().string();
        std::string_view rest = name;
        const auto number = take_number(rest, '.');
        const auto copied = number ? take_number(rest, '\0') : std::nullopt;
        const auto found = stat_of(at->path().string());
        if (!copied || !found) continue;
        const bool is_list = found->st_ino == list.st_ino && found->st_dev == list.st_dev;
        if (is_list)
            links_of_list_.push_back(at->path().string());
        else
            kept_.push_back({*number, *copied, bytes_of(*found), found->st_ctim});
    }
    std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.number < b.number; });
}

std::string OldFiles::path(std::uint64_t number, std::uint64_t copied) const {
    return paths_.old + "/" + std::to_string(number) + "." + std::to_string(copied);
}

std::vector<OldFile> OldFiles::appended() const {
    std::vector<OldFile> result;
    for (const Kept& kept : kept_) {
        if (!kept.has_more()) continue;
        const std::string where = path(kept.number, kept.copied);
        const Descriptor file(::open(where.c_str(), O_RDONLY | O_CLOEXEC));
        std::string begun, bytes;
        const std::uint64_t end = std::min(kept.bytes, kept.copied + most_at_once);
        if (!file.valid() || !read_range(file.get(), kept.copied, end, bytes) ||
            !read_begun_line(file.get(), kept.copied, begun))
            continue;
        if (auto old = whole_lines(kept.number, kept.copied, std::move(begun), std::move(bytes)))
            result.push_back(std::move(*old));
    }
    return result;
}

Status OldFiles::copied(const std::string& name) const {
    std::string_view rest = name;
    const auto number = take_number(rest, '.');
    const auto before = number ? take_number(rest, '-') : std::nullopt;
    const auto now = before ? take_number(rest, '\0') : std::nullopt;
    if (!now) return Error{ExitCode::internal, "no name of an old file: " + quote_for_message(name)};
    const std::string from = path(*number, *before);
    if (::rename(from.c_str(), path(*number, *now).c_str()) == 0) return success();
    return problem("rename", from);
}

void OldFiles::make_room() {
    struct statvfs disk {};
    if (kept_.empty() || ::statvfs(paths_.old.c_str(), &disk) != 0) return;
    std::uint64_t free = disk.f_bavail * disk.f_frsize;
    std::uint64_t sum = 0;
    for (const Kept& kept : kept_) sum += kept.bytes;
    std::erase_if(kept_, [&](const Kept& kept) {
        if (sum <= free || kept.has_more() || ::unlink(path(kept.number, kept.copied).c_str()) != 0)
            return false;
        sum -= kept.bytes;
        free += kept.bytes;
        return true;
    });
}

void OldFiles::keep_list() {
    // A crash left them; what was appended since is in the list itself.
    for (const std::string& link : links_of_list_) ::unlink(link.c_str());
    links_of_list_.clear();
    const std::uint64_t number = kept_.empty() ? 1 : kept_.back().number + 1;
    ::mkdir(paths_.old.c_str(), 0777);
    const std::string link = path(number, bytes_of(list_));
    if (::link(paths_.file.c_str(), link.c_str()) != 0) return;
    const auto made = stat_of(link);
    if (!made) return;
    kept_.push_back({number, bytes_of(list_), bytes_of(list_), made->st_ctim});
    remove_oldest(made->st_ctim);
}

// Only those whose bytes are all in the list. `now` is by the clock of their file system.
void OldFiles::remove_oldest(const timespec& now) {
    std::uint64_t sum = 0;
    for (const Kept& kept : kept_) sum += kept.bytes;
    std::size_t left = kept_.size();
    for (const Kept& kept : kept_) {
        if (left <= 1 || (left <= few_files && sum <= few_bytes)) return;
        const bool are_too_many = left > most_files || sum > most_bytes;
        const bool is_young = now.tv_sec - kept.changed.tv_sec < long_seconds;
        if (kept.has_more() || (is_young && !are_too_many) ||
            ::unlink(path(kept.number, kept.copied).c_str()) != 0)
            continue;
        --left;
        sum -= kept.bytes;
    }
}

Duration rewriting_time(Duration took, std::size_t old_files) {
    if (old_files <= few_files) return took;
    return std::max<Duration>(took, (old_files - few_files) * std::chrono::milliseconds(10));
}

std::optional<OldFile> whole_lines(std::uint64_t number, std::uint64_t copied, std::string begun,
                                   std::string bytes) {
    const std::size_t end = bytes.rfind('\n');
    if (end == std::string::npos || bytes.find('\0') != std::string::npos) return std::nullopt;
    if (begun.find('\0') != std::string::npos) return std::nullopt;
    bytes.resize(end + 1);
    return OldFile{
        std::to_string(number) + "." + std::to_string(copied) + "-" + std::to_string(copied + bytes.size()),
        std::move(begun) + bytes};
}

}  // namespace wq::shared_list::store
