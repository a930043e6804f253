#include "functions/pool/page.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "functions/pool/shared_file.h"

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

}  // namespace wq::functions::pool
