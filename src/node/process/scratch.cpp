#include "node/process/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

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

}  // namespace wq::node::process
