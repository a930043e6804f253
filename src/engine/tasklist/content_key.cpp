#include <bit>

#include "engine/tasklist/sources.h"

namespace wq::engine::tasklist {

namespace {

// Journals store these keys: the function never changes and is the same on every machine.
constexpr std::uint64_t odd_a = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
constexpr std::uint64_t odd_b = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t odd_c = 0xD6E8FEB86659FD93;

std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t word = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        word |= std::uint64_t{static_cast<unsigned char>(bytes[at])} << (8 * at);
    }
    return word;
}

// Each step is a bijection of the state, and for a given state also of the word: no word can erase the effect
// of earlier ones.
std::uint64_t absorb(std::uint64_t state, std::uint64_t word) {
    word = std::rotl(word * odd_a, 31) * odd_b;
    return std::rotl(state ^ word, 27) * odd_c + odd_a;
}

// Every bit of the result depends on every bit of the value.
std::uint64_t finalize(std::uint64_t value) {
    value = (value ^ (value >> 32)) * odd_c;
    value = (value ^ (value >> 29)) * odd_b;
    return value ^ (value >> 32);
}

}  // namespace

std::uint64_t content_key(std::string_view text, std::uint32_t occurrence) {
    std::uint64_t state = odd_b ^ text.size();
    while (text.size() >= 8) {
        state = absorb(state, little_endian(text.substr(0, 8)));
        text.remove_prefix(8);
    }
    if (!text.empty()) state = absorb(state, little_endian(text));
    return finalize(finalize(state) + occurrence * odd_a);
}

}  // namespace wq::engine::tasklist
