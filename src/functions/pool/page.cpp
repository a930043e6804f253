#include "functions/pool/page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bit>
#include <cstring>
#include <new>

namespace wq::functions::pool {

namespace {

Error cannot_share(int error) {
    std::string why = strerror(error);
    if (error == EMFILE || error == ENFILE) why += " (raise `ulimit -n`)";
    return {ExitCode::unreachable, "got no shared memory: " + why};
}

}  // namespace

Result<std::unique_ptr<PageMemory>> PageMemory::make(const PageShape& shape) {
    const std::size_t bytes = first_ring + shape.jobs.bytes + shape.results.bytes;
    Descriptor file = make_shared_file("work_queue_worker", bytes);
    if (!file.valid()) return cannot_share(errno);
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (base == MAP_FAILED) return cannot_share(errno);
    new (base) Page;
    static_cast<Page*>(base)->shape = shape;
    return std::unique_ptr<PageMemory>(new PageMemory(std::move(file), base, bytes));
}

Result<std::unique_ptr<PageMemory>> PageMemory::map(Descriptor file) {
    struct stat facts {};
    if (fstat(file.get(), &facts) != 0) return cannot_share(errno);
    const auto bytes = static_cast<std::size_t>(facts.st_size);
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (base == MAP_FAILED) return cannot_share(errno);
    return std::unique_ptr<PageMemory>(new PageMemory(Descriptor(), base, bytes));
}

PageMemory::~PageMemory() {
    munmap(base_, bytes_);
}

namespace {

constexpr std::size_t prefix = sizeof(std::uint64_t);

constexpr std::size_t record_bytes(std::size_t message) {
    return (prefix + message + 7) / 8 * 8;
}
constexpr std::size_t reserved = record_bytes(always_fits);

}  // namespace

RingShape RingShape::of(std::size_t messages) {
    constexpr std::size_t least = 64 << 10;
    constexpr std::size_t usual = 512;
    return {static_cast<std::uint32_t>(messages),
            static_cast<std::uint32_t>(std::bit_ceil(std::max(least, messages * usual)))};
}

bool RingWriter::fits(std::size_t bytes) const {
    const std::uint64_t used = at_ - control_.taken_bytes.load(std::memory_order_acquire);
    const std::uint64_t others = std::uint64_t{shape_.messages - waiting() - 1} * reserved;
    return used + record_bytes(bytes) + others <= shape_.bytes;
}

void RingWriter::copy(std::string_view part) {
    if (part.empty()) return;
    const std::size_t start = at_ & (shape_.bytes - 1);
    const std::size_t first = std::min<std::size_t>(part.size(), shape_.bytes - start);
    std::memcpy(bytes_ + start, part.data(), first);
    if (first < part.size()) std::memcpy(bytes_, part.data() + first, part.size() - first);
    at_ += part.size();
}

void RingWriter::push(std::string_view first, std::string_view second) {
    const std::uint64_t begin = at_;
    const std::uint64_t size = first.size() + second.size();
    copy({reinterpret_cast<const char*>(&size), sizeof size});
    copy(first);
    copy(second);
    at_ = begin + record_bytes(size);
    control_.written.store(++count_, std::memory_order_seq_cst);
}

void RingReader::copy(std::uint64_t at, std::span<char> to) const {
    const std::size_t start = at & (shape_.bytes - 1);
    const std::size_t first = std::min<std::size_t>(to.size(), shape_.bytes - start);
    std::memcpy(to.data(), bytes_ + start, first);
    if (first < to.size()) std::memcpy(to.data() + first, bytes_, to.size() - first);
}

std::optional<std::string> RingReader::read() {
    std::uint64_t size = 0;
    copy(at_, {reinterpret_cast<char*>(&size), sizeof size});
    if (size > shape_.bytes - prefix) return std::nullopt;
    std::string message(size, '\0');
    copy(at_ + prefix, message);
    next_ = at_ + record_bytes(size);
    return message;
}

void RingReader::taken() {
    at_ = next_;
    control_.taken_bytes.store(at_, std::memory_order_release);
    control_.taken.store(++count_, std::memory_order_seq_cst);
}

Descriptor make_shared_file(const char* name, std::size_t bytes) {
    Descriptor file(memfd_create(name, MFD_CLOEXEC));
    if (!file.valid()) return file;
    const int error = in_steps(bytes, [&](std::size_t from, std::size_t part) {
        const bool done = fallocate(file.get(), 0, static_cast<off_t>(from), static_cast<off_t>(part)) == 0;
        return done ? 0 : errno;
    });
    if (error == 0) return file;
    file.reset();
    errno = error;
    return file;
}

}  // namespace wq::functions::pool
