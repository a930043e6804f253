#include "mpi/segment.h"

#include <cstring>
#include <new>

namespace wq::mpi {

namespace {

constexpr std::align_val_t kAlignment{128};

class PrivateSegment final : public Segment {
  public:
    explicit PrivateSegment(std::size_t bytes)
        : data_(static_cast<std::byte*>(::operator new(bytes, kAlignment))), size_(bytes) {
        std::memset(data_, 0, bytes);
    }
    ~PrivateSegment() override { ::operator delete(data_, kAlignment); }
    PrivateSegment(const PrivateSegment&) = delete;
    PrivateSegment& operator=(const PrivateSegment&) = delete;

    std::byte* data() const override { return data_; }
    std::size_t size() const override { return size_; }

  private:
    std::byte* data_;
    std::size_t size_;
};

}  // namespace

std::unique_ptr<Segment> make_private_segment(std::size_t bytes) {
    return std::make_unique<PrivateSegment>(bytes);
}

}  // namespace wq::mpi
