#include "executor/page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace wq::executor {

namespace {

Error cannot_share(int error) {
    return {ExitCode::unreachable, std::string("cannot make shared memory for a worker: ") + strerror(error)};
}

}  // namespace

Result<std::unique_ptr<PageMemory>> PageMemory::make(const PageShape& shape) {
    const std::size_t bytes = first_ring + shape.jobs.bytes + shape.results.bytes;
    Descriptor file(memfd_create("work_queue_worker", MFD_CLOEXEC));
    if (!file.valid() || fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) != 0)
        return cannot_share(errno);
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

}  // namespace wq::executor
