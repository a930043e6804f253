#include "base/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/write_all.h"

namespace wq {

// It is written, not mapped: the kernel copies into new pages at a third of the cost of touching them one by
// one.
std::optional<MemoryFile> MemoryFile::with(std::span<const std::string_view> parts, int descriptor_below) {
    Descriptor file(memfd_create("work_queue", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file.valid() || file.get() >= descriptor_below) return std::nullopt;
    std::uint64_t size = 0;
    for (const std::string_view part : parts) {
        if (!write_all(file.get(), part)) return std::nullopt;
        size += part.size();
    }
    struct stat status {};
    if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0 ||
        fstat(file.get(), &status) != 0)
        return std::nullopt;
    return MemoryFile(std::move(file), size, status.st_ino);
}

std::string MemoryFile::path() const {
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_.get());
}

std::string MemoryFile::copy() const {
    std::string bytes(size_, '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t got = pread(file_.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;  // no memory can do this; whoever reads the zeros finds no call in them
        at += static_cast<std::size_t>(got);
    }
    return bytes;
}

}  // namespace wq
