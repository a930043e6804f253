// Counters that all ranks can increment: nodes take ranges of a batch without a message to rank 0.
// CounterWindow implements them with MPI.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace wq::ranks::tickets {

class Counters {
  public:
    virtual ~Counters() = default;

    // Adds and returns the old value. May wait for the network. On an error (in the library's words) it is
    // unknown whether the addition took place.
    virtual Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) = 0;

    // Sets and returns the old value.
    virtual Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) = 0;

    // Where the counters are: lets the others' calls end, where the network does not do that alone. Does not
    // wait.
    virtual void serve() {}
};

}  // namespace wq::ranks::tickets
