#include "host/disk_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace wq::host {

namespace {

constexpr std::int64_t block_bytes = 512;  // the unit of st_blocks

struct CloseFolder {
    void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

Folder open_folder(const std::string& path, bool is_given) {
    const int links = is_given ? 0 : O_NOFOLLOW;
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | links);
    if (fd < 0) return nullptr;
    Folder folder(fdopendir(fd));
    if (!folder) close(fd);
    return folder;
}

}  // namespace

DiskUse disk_use(const std::vector<std::string>& folders, const std::function<bool(const DiskUse&)>& go_on) {
    DiskUse use;
    std::set<std::pair<dev_t, ino_t>> named_again;
    struct Visit {
        std::string path;
        dev_t device;
        bool is_given;
    };
    std::vector<Visit> to_visit;
    for (const std::string& path : folders) {
        struct stat status {};
        if (stat(path.c_str(), &status) == 0) to_visit.push_back({path, status.st_dev, true});
    }
    while (!to_visit.empty()) {
        const Visit visit = std::move(to_visit.back());
        to_visit.pop_back();
        const Folder folder = open_folder(visit.path, visit.is_given);
        while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
            const std::string_view name = entry->d_name;
            if (name == "." || name == "..") continue;
            struct stat status {};
            if (fstatat(dirfd(folder.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT))
                continue;
            ++use.files;
            const bool is_folder = S_ISDIR(status.st_mode);
            if (is_folder || status.st_nlink < 2 || named_again.emplace(status.st_dev, status.st_ino).second)
                use.bytes += std::int64_t{status.st_blocks} * block_bytes;
            if (is_folder && status.st_dev == visit.device)
                to_visit.push_back({visit.path + "/" + entry->d_name, visit.device, false});
            if (!go_on(use)) return use;
        }
    }
    return use;
}

}  // namespace wq::host
