// Memory that the ranks of a node share, or, as its twin, memory of this process alone.
#pragma once

#include <cstddef>
#include <memory>

namespace wq::transport {

class Segment {
  public:
    virtual ~Segment() = default;
    virtual std::byte* data() const = 0;  // aligned to 128 bytes (two cache lines: they are fetched in pairs)
    virtual std::size_t size() const = 0;
};

// Zeroed.
std::unique_ptr<Segment> make_private_segment(std::size_t bytes);

}  // namespace wq::transport
