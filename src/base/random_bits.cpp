#include "base/random_bits.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace wq {

std::uint64_t random_bits() {
    std::uint64_t bits = 0;
    if (::getentropy(&bits, sizeof bits) != 0)
        throw std::system_error(errno, std::generic_category(), "getentropy");
    return bits;
}

}  // namespace wq
