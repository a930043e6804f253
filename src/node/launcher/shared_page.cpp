#include "node/launcher/shared_page.h"

#include <sys/mman.h>

#include <algorithm>
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

void BegunOrders::begin(std::uint64_t serial, std::span<const std::uint64_t> ahead) {
    if (serial <= last_.load(std::memory_order_relaxed)) {
        for (auto& place : passed_over_)
            if (place.load(std::memory_order_relaxed) == serial) place.store(0, std::memory_order_release);
        return;
    }
    for (const std::uint64_t passed : ahead)
        if (passed > last_.load(std::memory_order_relaxed)) pass_over(passed, ahead);
    last_.store(serial, std::memory_order_release);
}

void BegunOrders::pass_over(std::uint64_t serial, std::span<const std::uint64_t> ahead) {
    if (insert_serial(serial)) return;
    for (auto& place : passed_over_)
        if (std::find(ahead.begin(), ahead.end(), place.load(std::memory_order_relaxed)) == ahead.end())
            place.store(0, std::memory_order_release);
    insert_serial(serial);
}

bool BegunOrders::insert_serial(std::uint64_t serial) {
    for (auto& place : passed_over_) {
        if (place.load(std::memory_order_relaxed) != 0) continue;
        place.store(serial, std::memory_order_release);
        return true;
    }
    return false;
}

bool BegunOrders::has(std::uint64_t serial) const {
    if (serial > last_.load(std::memory_order_acquire)) return false;
    return std::none_of(passed_over_.begin(), passed_over_.end(),
                        [&](const auto& place) { return place.load(std::memory_order_acquire) == serial; });
}

}  // namespace wq::node::launcher
