// An HDF5 identifier that closes itself. Ids are 64-bit numbers, so that only h5_*.cpp include hdf5.h.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "records/hdf5/schema.h"

namespace wq::records::hdf5 {

// One thread at a time is in the HDF5 library, from the first to the last call of what belongs together: many
// clusters have one that is not thread-safe, and in one that is, others may open a file between two calls.
// (A thread-safe one has a lock of its own around each call, so nothing is slower.) What a program calls
// itself is not kept apart.
// A thread's last turn ends without errors on that thread's error stack: HDF5 1.10 never frees the texts of a
// stack whose thread has ended.
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

class H5Handle {
  public:
    using Close = int (*)(std::int64_t);
    H5Handle() = default;
    H5Handle(std::int64_t id, Close closer) : id_(id), close_(closer) {}
    H5Handle(H5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    H5Handle& operator=(H5Handle&& other) noexcept {
        std::swap(id_, other.id_), std::swap(close_, other.close_);
        return *this;
    }
    ~H5Handle() {
        close();  // a destructor cannot report an error
    }
    bool ok() const { return id_ >= 0; }
    std::int64_t id() const { return id_; }
    // Closes it and returns whether that succeeded.
    bool close() {
        if (id_ < 0) return true;
        const H5Turn turn;
        return close_(std::exchange(id_, -1)) >= 0;
    }
    // Never closes it: for a file that could not be written, the library would retry the write again and
    // again.
    void abandon() { id_ = -1; }

  private:
    std::int64_t id_ = -1;
    Close close_ = nullptr;
};

// Shared by h5_writer.cpp and h5_reader.cpp.

// The compound type of a row, in memory and in the file. Not ok(): the library failed.
H5Handle h5_row_type(const Schema& schema);
// Opens the file without locks if the file system has none.
H5Handle h5_file_access();
// Stops the library from printing to stderr and from closing itself at exit (after a failed write that loops:
// "infinite loop closing library"). Per thread and cheap.
void h5_keep_quiet();
// The library's error stack in one line, with the system's message if there is one.
std::string h5_last_error();

}  // namespace wq::records::hdf5
