#pragma once

#include <cstdint>

namespace wq::programs::runtask {

// Names one run of a line. Chosen by the caller, another one for each run.
using TaskKey = std::uint64_t;

}  // namespace wq::programs::runtask
