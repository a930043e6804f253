// The live objects of a type, to recognize pointers to deleted ones. It is global to the process, because C
// programs have only pointers.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <new>
#include <unordered_set>
#include <vector>

namespace wq::bindings::c {

template <class Object>
class LiveObjects {
  public:
    static LiveObjects& all() {
        // Never destroyed: programs may call us from their own atexit().
        static LiveObjects& objects = *new LiveObjects;
        return objects;
    }
    void add(const Object* object) {
        const std::lock_guard lock(mutex_);
        objects_.insert(object);
    }
    void remove(const Object* object) {
        const std::lock_guard lock(mutex_);
        objects_.erase(object);
    }
    bool has(const Object* object) const {
        const std::lock_guard lock(mutex_);
        return objects_.contains(object);
    }
    std::vector<const Object*> list() const {
        const std::lock_guard lock(mutex_);
        return {objects_.begin(), objects_.end()};
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_set<const Object*> objects_;
};

// Keeps the memory of deleted objects unused for a while, so that a dangling pointer is recognized and does
// not refer to a new object. It holds a fixed number of dead objects.

// A base class for objects created by new.
template <class Object, std::size_t most>
class Quarantined {
  public:
    static void* operator new(std::size_t bytes) { return ::operator new(bytes); }  // compilers want both
    static void operator delete(void* memory) noexcept { ::operator delete(oldest_after(memory)); }

  private:
    // Adds the memory of a dead object and returns memory that may be reused; null: none yet.
    static void* oldest_after(void* memory) noexcept {
        // Never destroyed: programs may delete from their own atexit().
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

}  // namespace wq::bindings::c
