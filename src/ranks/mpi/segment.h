// Memory shared by the ranks of a node, or private memory with the same interface.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"

namespace wq::ranks::mpi {

class Segment {
  public:
    virtual ~Segment() = default;
    virtual std::byte* data() const = 0;  // aligned to 128 bytes (two cache lines: they are fetched in pairs)
    virtual std::size_t size() const = 0;
};

// Zeroed.
std::unique_ptr<Segment> make_private_segment(std::size_t bytes);

// Whether MPI can make a file of this size in the folder where it keeps shared memory. Open MPI waits for
// ever if one rank of a node cannot.
Status room_in_shared_memory(std::size_t bytes, const char* folder = "/dev/shm");

}  // namespace wq::ranks::mpi
