#include "base/memory_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/random_bits.h"
#include "base/read_write.h"

namespace wq {

namespace {

std::uint64_t size_of(std::span<const std::string_view> parts) {
    std::uint64_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    return size;
}

}  // namespace

void Unmap::operator()(char* mapped) const {
    munmap(mapped, bytes);
}

// It is written, not mapped: the kernel copies into new pages at a third of the cost of touching them one by
// one.
std::optional<MemoryFile> MemoryFile::with(std::span<const std::string_view> parts, int descriptor_below) {
    const Descriptor made(memfd_create("work_queue", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!made.valid() || made.get() >= descriptor_below) return std::nullopt;
    // The kernel counts who has a file open only if open() was called for it; refill() needs the count.
    Descriptor file(open(("/proc/self/fd/" + std::to_string(made.get())).c_str(), O_RDWR | O_CLOEXEC));
    if (!file.valid() || file.get() >= descriptor_below) return std::nullopt;
    for (const std::string_view part : parts)
        if (!write_all(file.get(), part)) return std::nullopt;
    const std::uint64_t serial = random_bits();
    if (!write_all(file.get(), {reinterpret_cast<const char*>(&serial), sizeof serial}) ||
        fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return std::nullopt;
    return MemoryFile(std::move(file), size_of(parts), serial);
}

bool MemoryFile::refill(std::span<const std::string_view> parts) {
    const std::uint64_t size = size_of(parts);
    if (!is_for(size) || !map() || !take_from_others(serial_ + 1)) return false;
    char* to = mapped_.get();
    for (const std::string_view part : parts) {
        if (!part.empty()) std::memcpy(to, part.data(), part.size());
        to += part.size();
    }
    size_ = size;
    return true;
}

bool MemoryFile::map() {
    if (mapped_) return true;
    const std::size_t bytes = capacity_ + sizeof serial_;
    void* const mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
    if (mapped == MAP_FAILED) return false;
    mapped_ = std::unique_ptr<char, Unmap>(static_cast<char*>(mapped), Unmap{bytes});
    return true;
}

// A process of a lost attempt may have it mapped still. A write lease is granted only if nobody else has it
// open or mapped. While we have the lease, open() waits, so whoever opens it later finds the new serial.
bool MemoryFile::take_from_others(std::uint64_t serial) {
    // The signal to us when somebody opens it meanwhile; SIGURG is ignored by default.
    if (fcntl(file_.get(), F_SETSIG, SIGURG) != 0 || fcntl(file_.get(), F_SETLEASE, F_WRLCK) != 0)
        return false;
    std::memcpy(mapped_.get() + capacity_, &serial, sizeof serial);
    serial_ = serial;
    fcntl(file_.get(), F_SETLEASE, F_UNLCK);
    return true;
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
