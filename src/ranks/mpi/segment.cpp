#include "ranks/mpi/segment.h"

#include <sys/statvfs.h>

#include <cstring>
#include <new>
#include <string>

#include "base/shortage.h"
#include "base/units.h"

namespace wq::ranks::mpi {

namespace {

constexpr std::align_val_t kAlignment{128};
constexpr std::size_t kOfMpi = 64 << 10;  // what MPI adds to a segment: pages, and the state of each rank

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

Status room_in_shared_memory(std::size_t bytes, const char* folder) {
    struct statvfs disk {};
    if (::statvfs(folder, &disk) != 0) return success();  // MPI uses another folder
    const std::uint64_t needed = bytes + kOfMpi;
    const std::uint64_t free = disk.f_bavail * disk.f_frsize;
    if (free >= needed) return success();
    return Error{ExitCode::refused,
                 std::string(folder) + " has " + format_size(static_cast<std::int64_t>(free)) + " free, " +
                     format_size(static_cast<std::int64_t>(needed)) + " are needed; remove old files there"};
}

}  // namespace wq::ranks::mpi
