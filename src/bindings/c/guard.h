// Messages of the C functions on stderr: one line each, starting with the function's name.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <unordered_set>
#include <vector>

namespace wq::bindings::c {

void complain(const char* function, const char* what) noexcept;
void complain(const char* function, const std::string& what) noexcept;

// Complains, and returns what the call returns then.
template <class Text, class Value>
Value refuse(const char* function, const Text& what, Value value) noexcept {
    complain(function, what);
    return value;
}

// "FUNCTION: no effect: WHAT", once per process and function.
void no_effect(const char* function, const char* what);

// The boundary to C, which exceptions must not cross.

inline std::string text_or_empty(const char* text) {  // "" for NULL
    return text == nullptr ? std::string() : text;
}

// Calls `work` with the function's name and returns its result. If it throws, prints a line to stderr and
// returns `otherwise`.
template <class Value, class Work>
Value guarded(const char* function, Value otherwise, const Work& work) noexcept {
    try {
        return work(function);
    } catch (const std::bad_alloc&) {
        complain(function, "no memory left");
    } catch (const std::exception& error) {
        complain(function, error.what());
    } catch (...) {
        complain(function, "an unknown error");
    }
    return otherwise;
}

template <class Work>
void guarded(const char* function, const Work& work) noexcept {
    guarded(function, 0, [&](const char* name) {
        work(name);
        return 0;
    });
}

// The live objects of a type, to recognize pointers to deleted ones. It is global to the process, because C
// programs have only pointers.

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
