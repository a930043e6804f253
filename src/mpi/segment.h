// Memory shared by the ranks of a node, or private memory with the same interface.
#pragma once

#include <cstddef>
#include <memory>

namespace wq::mpi {

class Segment {
  public:
    virtual ~Segment() = default;
    virtual std::byte* data() const = 0;  // aligned to 128 bytes (two cache lines: they are fetched in pairs)
    virtual std::size_t size() const = 0;
};

// Zeroed.
std::unique_ptr<Segment> make_private_segment(std::size_t bytes);

}  // namespace wq::mpi
