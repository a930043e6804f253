// One thread at a time is in the HDF5 library, from the first to the last call of what belongs together: many
// clusters have one that is not thread-safe, and in one that is, others may open a file between two calls.
// (A thread-safe one has a lock of its own around each call, so nothing is slower.) What a program calls
// itself is not kept apart.
// A thread's last turn ends without errors on that thread's error stack: HDF5 1.10 never frees the texts of a
// stack whose thread has ended.
#pragma once

#include <mutex>

namespace wq::records::hdf5 {

class H5Turn {
  public:
    H5Turn() : lock_(mutex()) { ++turns(); }  // a thread may have several
    ~H5Turn() {
        if (--turns() == 0) clear_errors();
    }

  private:
    static void clear_errors();
    static int& turns() {
        static int only = 0;
        return only;
    }
    static std::recursive_mutex& mutex() {
        static auto& only = *new std::recursive_mutex;  // statics may be destroyed later than it would be
        return only;
    }
    std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace wq::records::hdf5
