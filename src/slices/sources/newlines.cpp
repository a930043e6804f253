#include "slices/sources/newlines.h"

#include <array>
#include <cstring>

namespace wq::slices::sources {

namespace {

constexpr std::size_t step = 64;

// Of g++ and clang; for the x86-64 baseline these are SSE2 instructions.
using Lanes = unsigned char __attribute__((vector_size(16)));

std::uint64_t newlines_in_step(const char* text) {
    Lanes counts{};
    for (std::size_t at = 0; at < step; at += sizeof(Lanes)) {
        Lanes bytes;
        std::memcpy(&bytes, text + at, sizeof bytes);
        counts -= reinterpret_cast<Lanes>(bytes == '\n');  // a lane that is equal has all bits set: -1
    }
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), &counts, sizeof counts);
    // Each byte is at most 8 now. The product's highest byte is the sum of all.
    return ((words[0] + words[1]) * 0x0101010101010101u) >> 56;
}

}  // namespace

Passed pass_newlines(std::string_view text, std::uint64_t wanted) {
    Passed passed;
    while (text.size() - passed.bytes >= step) {
        const std::uint64_t found = newlines_in_step(text.data() + passed.bytes);
        if (passed.newlines + found >= wanted) break;
        passed.newlines += found;
        passed.bytes += step;
    }
    while (passed.newlines < wanted) {
        const std::size_t at = text.find('\n', passed.bytes);
        if (at == std::string_view::npos) return {passed.newlines, text.size()};
        passed = {passed.newlines + 1, at + 1};
    }
    return passed;
}

}  // namespace wq::slices::sources
