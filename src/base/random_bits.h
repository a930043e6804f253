// Random bits from the kernel, for seeds and names. Programs that are copied to other machines do not use
// std::random_device: linked to the static library of g++ 12, it needs glibc 2.36.
#pragma once

#include <cstdint>

namespace wq {

std::uint64_t random_bits();

}  // namespace wq
