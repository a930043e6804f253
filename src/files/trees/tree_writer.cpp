#include "files/trees/tree_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/remove_tree.h"

namespace wq::files::trees {

namespace {

Problem refused(const std::string& target, const std::string& what) {
    return {Problem::Kind::refused, target + ": " + what};
}

std::string random_suffix() {
    std::uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<std::uint64_t>(::getpid());
    std::string text;
    for (int i = 0; i < 10; ++i, bits /= 36) text += "0123456789abcdefghijklmnopqrstuvwxyz"[bits % 36];
    return text;
}

// If invalid, errno says why.
Descriptor open_there(int folder, const std::string& name) {
    constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    Descriptor there(::openat(folder, name.c_str(), O_RDWR | flags));  // NFS locks need write access
    if (!there.valid() && errno == EISDIR) there.reset(::openat(folder, name.c_str(), O_RDONLY | flags));
    return there;
}

bool lock(int file) {
    return ::flock(file, LOCK_EX | LOCK_NB) == 0;
}

// Whether `name` still refers to this file.
bool is_named(int file, int folder, const std::string& name) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(file, &opened) == 0 && ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

bool is_there(int folder, const std::string& name) {
    return ::faccessat(folder, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

// Whether the name is free. Removes what a killed process left there, which nobody locks any more. Without
// file locks, nothing counts as left behind.
bool is_free(int folder, const std::string& name) {
    const Descriptor left = open_there(folder, name);
    if (!left.valid()) return errno == ENOENT;
    if (!lock(left.get()) || !is_named(left.get(), folder, name)) return false;
    remove_tree(folder, name);
    return !is_there(folder, name);
}

std::string aside(const std::string& temporary) {
    return temporary + ".old";
}

}  // namespace

TreeWriter::TreeWriter(std::string target, Purpose purpose) : target_(std::move(target)), purpose_(purpose) {
    while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
}

TreeWriter::~TreeWriter() {
    folders_.clear();
    if (beside_.valid() && !temporary_.empty() && is_ours()) remove_tree(beside_.get(), temporary_);
}

// If locks are local to a host, another host may have removed our temporary file.
bool TreeWriter::is_ours() const {
    return !is_common_ || is_named(hold_.get(), beside_.get(), temporary_);
}

Trouble TreeWriter::write(std::string_view bytes) {
    while (!bytes.empty()) {
        if (complete_) return refused(target_, "more bytes after its end");
        if (file_left_ > 0) {
            if (auto trouble = write_file(bytes)) return trouble;
            continue;
        }
        const std::size_t before = pending_.size();
        if (before > 0) pending_.append(bytes.substr(0, entry_head_bytes + most_entry_bytes - before));
        const auto decoded = decode(before > 0 ? pending_ : bytes);
        if (!decoded) return refused(target_, "the data received is not a file");
        if (decoded->used == 0) {  // entries are bounded, so `bytes` is a part of one
            if (before == 0) pending_ = bytes;
            return std::nullopt;
        }
        bytes.remove_prefix(decoded->used - before);
        pending_.clear();
        if (auto trouble = make(decoded->entry)) return trouble;
    }
    return std::nullopt;
}

Trouble TreeWriter::make(const Entry& entry) {
    if (entry.kind == EntryKind::leave) return leave();
    if (entry.kind == EntryKind::end) {
        if (!has_root_ || !folders_.empty()) return refused(target_, "the data received ends too early");
        complete_ = true;
        return std::nullopt;
    }
    if (has_root_ && folders_.empty()) return refused(target_, "the data received has two roots");
    if (folders_.empty() != entry.name.empty() || (!folders_.empty() && !is_component(entry.name)))
        return refused(target_, "the data received has an invalid name: '" + entry.name + "'");
    return has_root_ ? make_inner(entry) : make_root(entry);
}

Trouble TreeWriter::make_root(const Entry& entry) {
    if (auto trouble = prepare()) return trouble;
    has_root_ = true;
    const std::string beginning = "." + name_.substr(0, 200);
    temporary_ = beginning + ".wq-part";
    is_common_ = durable() && is_free(beside_.get(), temporary_);
    if (is_common_) restore();
    if (is_common_ && !make_inner(entry)) return std::nullopt;
    // Another process writes the same target.
    folders_.clear();
    file_.reset();
    if (hold_.valid() && is_ours()) remove_tree(beside_.get(), temporary_);
    hold_.reset();
    is_common_ = false;
    temporary_ = beginning + ".part-" + random_suffix();
    return make_inner(entry);
}

// Restores the old target, if a process was killed between removing the old and placing the new one.
void TreeWriter::restore() {
    const int at = beside_.get();
    const std::string old = aside(temporary_);
    if (!is_there(at, name_)) static_cast<void>(::renameat(at, old.c_str(), at, name_.c_str()));
    remove_tree(at, old);
}

// Before we lock the new file, another process may have mistaken it for a leftover.
bool TreeWriter::hold(int root) {
    if (!is_common_) return true;
    if (!lock(root) && errno == EWOULDBLOCK) return false;
    if (!is_named(root, beside_.get(), temporary_)) return false;
    hold_.reset(::fcntl(root, F_DUPFD_CLOEXEC, 0));
    return hold_.valid();
}

Trouble TreeWriter::make_inner(const Entry& entry) {
    switch (entry.kind) {
        case EntryKind::file:
            return make_file(entry);
        case EntryKind::folder:
            return make_folder(entry);
        default:
            return make_link(entry);
    }
}

Trouble TreeWriter::prepare() {
    const std::filesystem::path path(target_);
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    name_ = path.filename().string();
    if (!is_component(name_)) return refused(target_, "this is not a file name: give the path of a file");
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return problem_of_errno(folder, error.value());
    beside_.reset(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!beside_.valid()) return problem_of_errno(folder, errno);
    return std::nullopt;
}

Trouble TreeWriter::make_file(const Entry& entry) {
    Descriptor file(::openat(place(), name_of(entry).c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return problem_of_errno(target_, errno);
    if (folders_.empty() && !hold(file.get())) return refused(target_, "another task writes it, too");
    file_ = std::move(file);
    file_mode_ = entry.mode;
    file_left_ = entry.size;
    return file_left_ == 0 ? end_file() : Trouble{};
}

Trouble TreeWriter::make_folder(const Entry& entry) {
    if (folders_.size() == most_depth) return refused(target_, "the data received is too deep");
    if (::mkdirat(place(), name_of(entry).c_str(), 0700) != 0) return problem_of_errno(target_, errno);
    Descriptor made(
        ::openat(place(), name_of(entry).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made.valid()) return problem_of_errno(target_, errno);
    if (folders_.empty() && !hold(made.get())) return refused(target_, "another task writes it, too");
    if (folders_.empty()) is_folder_ = true;
    folders_.push_back({std::move(made), entry.mode});
    return std::nullopt;
}

Trouble TreeWriter::make_link(const Entry& entry) {
    if (folders_.empty() || !stays_inside(entry.target, folders_.size() - 1))
        return refused(target_, "has a link that leads outside: " + entry.name + " -> " + entry.target);
    if (::symlinkat(entry.target.c_str(), place(), entry.name.c_str()) != 0)
        return problem_of_errno(target_, errno);
    return std::nullopt;
}

Trouble TreeWriter::leave() {
    if (folders_.empty()) return refused(target_, "the data received leaves its own root");
    const Folder& left = folders_.back();
    if (::fchmod(left.descriptor.get(), left.mode | 0700) != 0) return problem_of_errno(target_, errno);
    folders_.pop_back();
    return std::nullopt;
}

Trouble TreeWriter::write_file(std::string_view& bytes) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(file_left_, bytes.size()));
    const ssize_t written = ::write(file_->get(), bytes.data(), most);
    if (written < 0) return errno == EINTR ? Trouble{} : problem_of_errno(target_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    file_left_ -= static_cast<std::uint64_t>(written);
    bytes_of_files_ += static_cast<std::uint64_t>(written);
    return file_left_ == 0 ? end_file() : Trouble{};
}

Trouble TreeWriter::end_file() {
    if (::fchmod(file_->get(), purpose_ == Purpose::shared ? file_mode_ : file_mode_ | 0200) != 0)
        return problem_of_errno(target_, errno);
    // A folder gets one syncfs() at the end, because 100,000 calls of fsync() would take minutes.
    if (durable() && !is_folder_ && ::fsync(file_->get()) != 0) return problem_of_errno(target_, errno);
    // close() reports errors of writes that a network file system has delayed.
    if (::close(file_->release()) != 0) return problem_of_errno(target_, errno);
    file_.reset();
    return std::nullopt;
}

Trouble TreeWriter::finish() {
    if (!complete_) return refused(target_, "the data received has no end");
    if (durable() && is_folder_ && ::syncfs(beside_.get()) != 0) return problem_of_errno(target_, errno);
    if (auto trouble = move_to_target()) return trouble;
    hold_.reset();  // a program that is open for writing cannot be started (ETXTBSY)
    if (durable() && ::fsync(beside_.get()) != 0) return problem_of_errno(target_, errno);
    return std::nullopt;
}

// Protects the user's data: a wrong name must not overwrite anything that is not an earlier output.
Trouble TreeWriter::refuse_what_is_there() const {
    struct stat there {};
    if (::fstatat(beside_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    if (S_ISDIR(there.st_mode) && !is_folder_)
        return refused(target_, "is a folder, but the output is a file: name a file in it");
    if (S_ISREG(there.st_mode) && is_folder_)
        return refused(target_, "is a file, but the output is a folder");
    if (!S_ISDIR(there.st_mode) && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
        return refused(target_, "is a device, pipe or socket, which an output cannot replace");
    return std::nullopt;
}

Trouble TreeWriter::move_to_target() {
    const int at = beside_.get();
    if (!is_ours()) return refused(target_, "another task writes it, too");
    if (auto trouble = durable() ? refuse_what_is_there() : std::nullopt) return trouble;
    if (::renameat(at, temporary_.c_str(), at, name_.c_str()) == 0) {
        temporary_.clear();
        return std::nullopt;
    }
    // The old folder is not empty, or only one of them is a folder: exchange them.
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EISDIR && errno != ENOTDIR)
        return problem_of_errno(target_, errno);
    // The old one is locked before it gets the common name, or the next writer would mistake it for a
    // leftover.
    const Descriptor old = open_there(at, name_);
    if (old.valid()) lock(old.get());
    if (::renameat2(at, temporary_.c_str(), at, name_.c_str(), RENAME_EXCHANGE) == 0) {
        if (!old.valid() || is_named(old.get(), at, temporary_)) remove_tree(at, temporary_);
        temporary_.clear();
        return std::nullopt;
    }
    // NFS and Lustre cannot exchange: for a moment there is neither.
    if (errno != EINVAL && errno != ENOSYS) return problem_of_errno(target_, errno);
    const std::string away = aside(temporary_);
    remove_tree(at, away);
    if (::renameat(at, name_.c_str(), at, away.c_str()) != 0) return problem_of_errno(target_, errno);
    if (::renameat(at, temporary_.c_str(), at, name_.c_str()) != 0) {
        const auto trouble = problem_of_errno(target_, errno);
        static_cast<void>(::renameat(at, away.c_str(), at, name_.c_str()));
        return trouble;
    }
    remove_tree(at, away);
    temporary_.clear();
    return std::nullopt;
}

}  // namespace wq::files::trees
