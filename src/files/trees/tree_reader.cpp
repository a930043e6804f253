#include "files/trees/tree_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace wq::files::trees {

namespace {

constexpr int open_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // opening a FIFO must not block

std::string join(const std::string& folder, const std::string& name) {
    return name.empty() ? folder : folder + "/" + name;
}

Problem no_tree(const std::string& path) {
    return {Problem::Kind::unreadable, path + ": not a file, folder or link"};
}

// Names in a folder, the last first. On nullopt, errno says why.
std::optional<std::vector<std::string>> names_of(int folder) {
    const int copy = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return std::nullopt;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy), ::closedir);
    if (!stream) {
        ::close(copy);
        return std::nullopt;
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(stream.get())) {
        if (is_component(entry->d_name)) names.emplace_back(entry->d_name);
        errno = 0;
    }
    if (errno != 0) return std::nullopt;
    std::sort(names.rbegin(), names.rend());
    return names;
}

std::uint32_t mode_of(const struct stat& status) {
    return static_cast<std::uint32_t>(status.st_mode) & 0555;
}

}  // namespace

TreeReader::TreeReader(std::string path, std::optional<Piece> piece)
    : path_(std::move(path)), piece_(piece) {}

Trouble TreeReader::read(std::string& out, std::size_t most) {
    const std::size_t full = out.size() + most;
    while (!done_ && out.size() < full) {
        Trouble trouble = !begun_ ? begin(out) : file_ ? read_file(out, full - out.size()) : next_entry(out);
        if (trouble) return trouble;
    }
    return std::nullopt;
}

Trouble TreeReader::begin(std::string& out) {
    begun_ = true;
    return take(nullptr, "", Links::follow, out);
}

Trouble TreeReader::next_entry(std::string& out) {
    if (folders_.empty()) {
        out += encode({EntryKind::end, "", 0, 0, ""});
        done_ = true;
        return std::nullopt;
    }
    Folder& folder = folders_.back();
    if (folder.names.empty()) {
        out += encode({EntryKind::leave, "", 0, 0, ""});
        folders_.pop_back();
        return std::nullopt;
    }
    const std::string name = std::move(folder.names.back());
    folder.names.pop_back();
    return take(&folder, name, Links::keep, out);
}

// The entry `name` of folder `parent`; the root if that is null.
Trouble TreeReader::take(const Folder* parent, const std::string& name, Links links, std::string& out) {
    const int at = parent != nullptr ? parent->descriptor.get() : AT_FDCWD;
    const std::string path = parent != nullptr ? join(parent->path, name) : path_;
    const std::string& known_as = parent != nullptr ? name : path_;
    Descriptor opened(::openat(at, known_as.c_str(), open_flags | (links == Links::follow ? 0 : O_NOFOLLOW)));
    if (!opened.valid() && errno == ELOOP && parent != nullptr) return read_link(*parent, name, out);
    if (!opened.valid() && errno == ENXIO) return no_tree(path);  // a socket
    if (!opened.valid()) return problem_of_errno(path, errno);
    struct stat status {};
    if (::fstat(opened.get(), &status) != 0) return problem_of_errno(path, errno);
    if (S_ISDIR(status.st_mode) && !piece_) return enter(std::move(opened), path, name, mode_of(status), out);
    if (!S_ISREG(status.st_mode)) return no_tree(path);
    return open_file(std::move(opened), path, name, out);
}

Trouble TreeReader::enter(Descriptor folder, const std::string& path, const std::string& name,
                          std::uint32_t mode, std::string& out) {
    if (folders_.size() == most_depth)
        return Problem{Problem::Kind::unreadable,
                       path + ": more than " + std::to_string(most_depth) + " folders deep"};
    auto names = names_of(folder.get());
    if (!names) return problem_of_errno(path, errno);
    out += encode({EntryKind::folder, name, mode, 0, ""});
    folders_.push_back({std::move(folder), path, std::move(*names)});
    return std::nullopt;
}

Trouble TreeReader::open_file(Descriptor file, const std::string& path, const std::string& name,
                              std::string& out) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return problem_of_errno(path, errno);
    auto size = static_cast<std::uint64_t>(status.st_size);
    if (piece_) {
        if (piece_->first > piece_->last || piece_->first >= size)
            return Problem{Problem::Kind::missing, path + ": has no bytes " + std::to_string(piece_->first) +
                                                       " to " + std::to_string(piece_->last) + ", but " +
                                                       std::to_string(size) + " in all"};
        if (::lseek(file.get(), static_cast<off_t>(piece_->first), SEEK_SET) < 0)
            return problem_of_errno(path, errno);
        size = std::min(piece_->last, size - 1) - piece_->first + 1;
    }
    out += encode({EntryKind::file, name, mode_of(status), size, ""});
    file_ = File{std::move(file), path, size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size};
    return std::nullopt;
}

Trouble TreeReader::read_link(const Folder& parent, const std::string& name, std::string& out) {
    std::array<char, 4096> target{};
    const std::string path = join(parent.path, name);
    const ssize_t length = ::readlinkat(parent.descriptor.get(), name.c_str(), target.data(), target.size());
    if (length < 0) return problem_of_errno(path, errno);
    const std::string_view text(target.data(), static_cast<std::size_t>(length));
    if (stays_inside(text, folders_.size() - 1)) {
        out += encode({EntryKind::link, name, 0, 0, std::string(text)});
        return std::nullopt;
    }
    struct stat status {};
    if (::fstatat(parent.descriptor.get(), name.c_str(), &status, 0) == 0 && S_ISDIR(status.st_mode))
        return Problem{Problem::Kind::unreadable, path + ": a link to a folder outside " + path_};
    return take(&parent, name, Links::follow, out);
}

Trouble TreeReader::read_file(std::string& out, std::size_t most) {
    const auto changed = [this] {
        return Problem{Problem::Kind::changed, file_->path + ": changed while it was read"};
    };
    if (file_->left > 0) {
        const std::size_t before = out.size();
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(file_->left, most));
        out.resize(before + wanted);
        const ssize_t got = ::read(file_->descriptor.get(), out.data() + before, wanted);
        out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0) return errno == EINTR ? Trouble{} : problem_of_errno(file_->path, errno);
        if (got == 0) return changed();
        file_->left -= static_cast<std::uint64_t>(got);
    }
    if (file_->left > 0) return std::nullopt;
    struct stat status {};
    if (::fstat(file_->descriptor.get(), &status) != 0) return problem_of_errno(file_->path, errno);
    if (status.st_size != file_->size || status.st_mtim.tv_sec != file_->modified_s ||
        status.st_mtim.tv_nsec != file_->modified_ns)
        return changed();
    file_.reset();
    return std::nullopt;
}

}  // namespace wq::files::trees
