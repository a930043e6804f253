// Memory of objects that were deleted, kept from use for a while: a pointer that is used after that is still
// known as one to nothing, where its place would soon be another object's. How many deletions that lasts is
// the price: so many dead objects.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <new>

namespace wq::capi {

// A base; the objects are made by new.
template <class Object, std::size_t most>
class Quarantined {
  public:
    static void operator delete(void* memory) noexcept { ::operator delete(oldest_after(memory)); }

  private:
    // What may be used again; null: nothing yet.
    static void* oldest_after(void* memory) noexcept {
        // Never destroyed: programs delete from their own atexit().
        static auto& dead = *new std::deque<void*>;
        static auto& mutex = *new std::mutex;
        const std::lock_guard lock(mutex);
        try {
            dead.push_back(memory);
        } catch (const std::bad_alloc&) {
            return memory;
        }
        if (dead.size() <= most) return nullptr;
        void* const oldest = dead.front();
        dead.pop_front();
        return oldest;
    }
};

}  // namespace wq::capi
