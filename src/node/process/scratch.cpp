#include "node/process/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/remove_tree.h"

namespace wq::node::process {

namespace {

// The entries of getdents64(2); libc does not declare them.
struct KernelEntry {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t length;
    std::uint8_t type;
    char name[1];
};

enum class Contents { none, removed, too_much, gone };

// One getdents64 detects the usual case, an empty folder, with two system calls.
Contents remove_few(int directory) {
    alignas(KernelEntry) std::array<char, 2048> buffer;
    if (lseek(directory, 0, SEEK_SET) != 0) return Contents::gone;
    const long got = syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
    if (got <= 0) return Contents::gone;  // an existing folder has at least . and ..
    bool found = false;
    for (long at = 0; at < got;) {
        const char* const entry = buffer.data() + at;
        std::uint16_t length = 0;
        std::memcpy(&length, entry + offsetof(KernelEntry, length), sizeof length);
        const char* const name = entry + offsetof(KernelEntry, name);
        at += length;
        if (std::string_view(name) == "." || std::string_view(name) == "..") continue;
        found = true;
        if (unlinkat(directory, name, 0) != 0) return Contents::too_much;  // a folder
    }
    return found ? Contents::removed : Contents::none;
}

}  // namespace

LaneDirectory::LaneDirectory(std::string path) : path_(std::move(path)) {
    if (!path_.empty()) create();
}

void LaneDirectory::create() {
    mkdir(path_.c_str(), 0700);
    directory_.reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::string LaneDirectory::make_empty() {
    if (path_.empty()) return {};
    for (int round = 0; round < 2; ++round) {
        switch (remove_few(directory_.get())) {
            case Contents::none:
                return {};
            case Contents::removed:
                continue;  // there may be more than fit one buffer
            case Contents::gone:
                create();
                return {};
            case Contents::too_much:
                round = 2;
                break;
        }
    }
    const std::string aside = path_ + ".old" + std::to_string(++moved_);
    const bool moved = std::rename(path_.c_str(), aside.c_str()) == 0;
    create();
    return moved ? aside : std::string();
}

namespace {

constexpr std::string_view prefix = "work_queue.";
constexpr std::string_view lock_name = "work_queue.lock";

std::string lock_of(const std::string& folder) {
    return folder + "/" + std::string(lock_name);
}

// Stored in the lock file: if a file system's locks are local to a host, folders of other hosts look
// abandoned.
std::string this_host() {
    utsname names{};
    uname(&names);
    return names.nodename;
}

// The host is written under the lock, so a folder that is just being created names no host and is kept.
bool is_abandoned(int lock, const std::string& host) {
    struct stat status {};
    if (fstat(lock, &status) != 0 || status.st_uid != geteuid()) return false;
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) return false;
    std::array<char, sizeof(utsname::nodename) + 1> owner;
    const ssize_t length = pread(lock, owner.data(), owner.size(), 0);
    return length > 0 && std::string_view(owner.data(), static_cast<std::size_t>(length)) == host;
}

}  // namespace

std::optional<ScratchFolder> ScratchFolder::make(const std::string& parent) {
    std::error_code ignored;
    std::filesystem::create_directories(parent, ignored);
    ScratchFolder folder;
    folder.path_ = parent + "/" + std::string(prefix) + "XXXXXX";
    if (mkdtemp(folder.path_.data()) == nullptr) return std::nullopt;
    const std::string lock = lock_of(folder.path_);
    folder.lock_.reset(open(lock.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const std::string host = this_host();
    // If locking or writing fails, the folder can still be used; it just never counts as abandoned.
    if (!folder.lock_.valid() || flock(folder.lock_.get(), LOCK_EX) != 0 ||
        write(folder.lock_.get(), host.data(), host.size()) < 0)
        folder.lock_.reset();
    return folder;
}

void ScratchFolder::remove() {
    if (!path_.empty()) remove_folder(path_, lock_name);
    path_.clear();
    lock_.reset();
}

void remove_abandoned_scratch(const std::string& parent) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(parent.c_str()), closedir);
    const std::string host = this_host();
    while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
        if (!std::string_view(entry->d_name).starts_with(prefix)) continue;
        const std::string path = parent + "/" + entry->d_name;
        const Descriptor lock(open(lock_of(path).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
        if (lock.valid() && is_abandoned(lock.get(), host)) remove_folder(path, lock_name);
    }
}

}  // namespace wq::node::process
