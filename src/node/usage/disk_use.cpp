#include "node/usage/disk_use.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

namespace wq::node::usage {

namespace {

constexpr std::int64_t stat_block_bytes = 512;  // the unit of st_blocks

}  // namespace

DiskWalk::Folder DiskWalk::open(int in, const char* name, int flags, Place& place) {
    const int fd = ::openat(in, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd < 0) return nullptr;
    Folder folder(fdopendir(fd));
    struct stat status {};
    if (!folder || fstat(fd, &status) != 0) {
        if (!folder) close(fd);
        return nullptr;
    }
    place = {status.st_dev, status.st_ino};
    return folder;
}

bool DiskWalk::go_on(std::int64_t entries, Instant until) {
    ++turns_;
    while (!levels_.empty() || begin_next()) {
        if (step() && --entries <= 0) return false;
        if (until != Instant::max() && instant_now() >= until) return false;
    }
    return true;
}

// True if it visited an entry.
bool DiskWalk::step() {
    Level& level = levels_.back();
    if (const dirent* const entry = here_ && !level.read ? readdir(here_.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") return false;
        count(entry->d_name);
        return true;
    }
    level.read = true;
    level.below.empty() ? go_up() : go_down();
    return false;
}

bool DiskWalk::begin_next() {
    if (given_.empty()) return false;
    Level first;
    first.name = std::move(given_.back());
    given_.pop_back();
    here_ = open(AT_FDCWD, first.name.c_str(), 0, first.place);
    levels_.push_back(std::move(first));
    return true;
}

void DiskWalk::count(const char* name) {
    struct stat status {};
    if (fstatat(dirfd(here_.get()), name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return;
    ++found_.files;
    const bool is_folder = S_ISDIR(status.st_mode);
    if (is_folder || status.st_nlink < 2 || named_again_.emplace(status.st_dev, status.st_ino).second)
        found_.bytes += std::int64_t{status.st_blocks} * stat_block_bytes;
    if (is_folder && status.st_dev == levels_.front().place.first) levels_.back().below.emplace_back(name);
}

// A folder is read completely before its subfolders are entered, so only one folder is open at a time.
void DiskWalk::go_down() {
    Level next;
    next.name = std::move(levels_.back().below.back());
    levels_.back().below.pop_back();
    Folder below = open(dirfd(here_.get()), next.name.c_str(), O_NOFOLLOW, next.place);
    if (!below || next.place.first != levels_.front().place.first) return;
    here_ = std::move(below);
    levels_.push_back(std::move(next));
}

void DiskWalk::go_up() {
    levels_.pop_back();
    if (levels_.empty()) return here_.reset();
    Place place;
    here_ = open(dirfd(here_.get()), "..", 0, place);
    if (!here_ || place != levels_.back().place) find_again();
}

// The current folder was moved, or may not be searched. Goes down from the top again, as far as folders are
// where they were.
void DiskWalk::find_again() {
    std::size_t found = 0;
    Folder above;
    for (const Level& level : levels_) {
        Place place;
        Folder folder = found == 0 ? open(AT_FDCWD, level.name.c_str(), 0, place)
                                   : open(dirfd(above.get()), level.name.c_str(), O_NOFOLLOW, place);
        if (!folder || place != level.place) break;
        above = std::move(folder);
        ++found;
    }
    levels_.resize(found);
    here_ = std::move(above);
}

}  // namespace wq::node::usage
