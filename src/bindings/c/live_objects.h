// The live objects of a type, to recognize pointers to deleted ones. It is global to the process, because C
// programs have only pointers.
#pragma once

#include <mutex>
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

}  // namespace wq::bindings::c
