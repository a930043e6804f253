// Keeps the memory of deleted objects unused for a while, so that a pointer used afterwards is recognized
// and does not name a new object. It holds a fixed number of dead objects.
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
