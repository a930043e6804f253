#include "node/launcher/shared_page.h"

#include <sys/mman.h>

#include <new>

namespace wq::node::launcher {

SharedMemory::SharedMemory(int file)
    : page_(mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE,
                 file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0)) {
    if (page_ == MAP_FAILED) throw std::bad_alloc();
    new (page_) SharedPage;
}

SharedMemory::~SharedMemory() {
    munmap(page_, sizeof(SharedPage));
}

}  // namespace wq::node::launcher
