#include "engine/tasklist/progression.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace wq::engine::tasklist {

namespace {

__extension__ using Wide = unsigned __int128;

// The x with value * x = 1 modulo `modulus`; the two are coprime.
std::uint64_t inverse(std::uint64_t value, std::uint64_t modulus) {
    // The absolute values of coefficients stay below the modulus; they are kept as non-negative remainders.
    std::uint64_t before = 0;
    std::uint64_t now = 1 % modulus;
    std::uint64_t high = modulus;
    std::uint64_t low = value % modulus;
    while (low > 1) {
        const std::uint64_t quotient = high / low;
        const auto product = static_cast<std::uint64_t>(Wide{quotient} * now % modulus);
        const std::uint64_t next = before >= product ? before - product : before + (modulus - product);
        before = now, now = next;
        high = std::exchange(low, high % low);
    }
    return now;
}

}  // namespace

std::optional<std::uint64_t> first_common(const IndexRange& a, const IndexRange& b) {
    const std::uint64_t low = std::max(a.first, b.first);
    const std::uint64_t high = std::min(a.last, b.last);
    if (low > high) return std::nullopt;
    const std::uint64_t common_step = std::gcd(a.step, b.step);
    const std::uint64_t offset = a.first <= b.first ? b.first - a.first : a.first - b.first;
    if (offset % common_step != 0) return std::nullopt;

    // Solves a.first + a.step * k = b.first modulo b.step for the least k (Chinese remainder theorem).
    const std::uint64_t modulus = b.step / common_step;
    std::uint64_t target = offset / common_step % modulus;
    if (a.first > b.first && target != 0) target = modulus - target;
    const auto k =
        static_cast<std::uint64_t>(Wide{target} * inverse(a.step / common_step, modulus) % modulus);
    const Wide period = Wide{a.step} * modulus;
    Wide meeting = Wide{a.first} + Wide{a.step} * k;
    if (meeting < low) meeting += (low - meeting + period - 1) / period * period;
    if (meeting > high) return std::nullopt;
    return static_cast<std::uint64_t>(meeting);
}

}  // namespace wq::engine::tasklist
