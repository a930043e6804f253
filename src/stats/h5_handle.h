// An HDF5 identifier that closes itself. Ids are 64-bit numbers; hdf5.h stays in h5_*.cpp.
#pragma once

#include <cstdint>
#include <utility>

namespace wq::stats {

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
        if (id_ >= 0) close_(id_);  // without complaint: a destructor has nobody to tell
    }
    bool ok() const { return id_ >= 0; }
    std::int64_t id() const { return id_; }
    // Closes and says whether that went well.
    bool close() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }
    // Never closed: a file that could not be written would be tried again, and again.
    void abandon() { id_ = -1; }

  private:
    std::int64_t id_ = -1;
    Close close_ = nullptr;
};

}  // namespace wq::stats
