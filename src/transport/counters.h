// A row of counters that all ranks can add to: where nodes draw their ranges of a batch from, without a
// message to rank 0. CounterWindow is the one of MPI.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace wq::transport {

class Counters {
  public:
    virtual ~Counters() = default;

    // Adds and returns the value before. May wait for the network. Errors say what the library said; whether
    // the addition was made is then unknown.
    virtual Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) = 0;

    // Sets, and returns the value before.
    virtual Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) = 0;
};

}  // namespace wq::transport
