#include "base/freed_memory.h"

#include <malloc.h>

#include <cstdlib>
#include <initializer_list>

namespace wq {

namespace {

bool set_by_user() {
    for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"})
        if (std::getenv(name) != nullptr) return true;
    return false;
}

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
    constexpr int kept = 16 << 20;
    constexpr int mapped_from = 4 << 20;  // frames with file parts are smaller
    static const bool done =
        !set_by_user() && mallopt(M_TRIM_THRESHOLD, kept) == 1 && mallopt(M_MMAP_THRESHOLD, mapped_from) == 1;
    static_cast<void>(done);
#endif
}

}  // namespace wq
