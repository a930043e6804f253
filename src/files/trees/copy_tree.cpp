#include "files/trees/copy_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/descriptor.h"

namespace wq::files::trees {

namespace {

struct Place {
    int folder = AT_FDCWD;
    const std::string& name;
};

class Copier {
  public:
    Copier(const std::string& to, Sharing sharing) : to_(to), sharing_(sharing) {}

    Trouble copy(const Place& from, const Place& to) const {
        struct stat status {};
        if (::fstatat(from.folder, from.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return failed();
        if (S_ISDIR(status.st_mode)) return copy_folder(from, to, status.st_mode & 0777);
        if (S_ISLNK(status.st_mode)) return copy_link(from, to);
        const bool linked = sharing_ == Sharing::linked &&
                            ::linkat(from.folder, from.name.c_str(), to.folder, to.name.c_str(), 0) == 0;
        return linked ? Trouble{} : copy_file(from, to, status);
    }

  private:
    Problem failed() const { return problem_of_errno(to_, errno); }

    Trouble copy_folder(const Place& from, const Place& to, mode_t mode) const {
        const Descriptor source(
            ::openat(from.folder, from.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!source.valid() || ::mkdirat(to.folder, to.name.c_str(), 0700) != 0) return failed();
        const Descriptor target(
            ::openat(to.folder, to.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!target.valid()) return failed();
        if (auto trouble = copy_children(source.get(), target.get())) return trouble;
        return ::fchmod(target.get(), mode) == 0 ? Trouble{} : failed();
    }

    Trouble copy_children(int source, int target) const {
        const int copy = ::fcntl(source, F_DUPFD_CLOEXEC, 0);
        DIR* const stream = copy < 0 ? nullptr : ::fdopendir(copy);
        if (stream == nullptr) return failed();
        Trouble trouble;
        while (const dirent* entry = trouble ? nullptr : ::readdir(stream)) {
            const std::string name = entry->d_name;
            if (name != "." && name != "..") trouble = this->copy({source, name}, {target, name});
        }
        ::closedir(stream);
        return trouble;
    }

    Trouble copy_link(const Place& from, const Place& to) const {
        std::array<char, 4097> target{};
        if (::readlinkat(from.folder, from.name.c_str(), target.data(), target.size() - 1) < 0 ||
            ::symlinkat(target.data(), to.folder, to.name.c_str()) != 0)
            return failed();
        return std::nullopt;
    }

    Trouble copy_file(const Place& from, const Place& to, const struct stat& status) const {
        const Descriptor source(::openat(from.folder, from.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!source.valid()) return failed();
        const Descriptor target(
            ::openat(to.folder, to.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!target.valid()) return failed();
        if (::ioctl(target.get(), FICLONE, source.get()) != 0) {
            for (ssize_t sent = 1; sent > 0;) {
                sent = ::copy_file_range(source.get(), nullptr, target.get(), nullptr, 1 << 30, 0);
                if (sent < 0) sent = ::sendfile(target.get(), source.get(), nullptr, 1 << 30);
                if (sent < 0) return failed();
            }
        }
        // Rounded to a whole second, so that even a write within the same clock tick is detected.
        const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, timespec{status.st_mtim.tv_sec, 0}};
        // A copy is the task's own: it may write to it.
        const mode_t mode = (status.st_mode & 0777) | 0200;
        return ::futimens(target.get(), times.data()) == 0 && ::fchmod(target.get(), mode) == 0 ? Trouble{}
                                                                                                : failed();
    }

    const std::string& to_;
    Sharing sharing_;
};

}  // namespace

Trouble copy_tree(const std::string& from, const std::string& to, Sharing sharing) {
    return Copier(to, sharing).copy({AT_FDCWD, from}, {AT_FDCWD, to});
}

}  // namespace wq::files::trees
