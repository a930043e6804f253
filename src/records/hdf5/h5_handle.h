// An HDF5 identifier that closes itself. Ids are 64-bit numbers, so that only h5_*.cpp include hdf5.h.
#pragma once

#include <cstdint>
#include <utility>

#include "records/hdf5/h5_turn.h"

namespace wq::records::hdf5 {

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

}  // namespace wq::records::hdf5
