#include "base/random_bits.h"

#include <gtest/gtest.h>

namespace wq {
namespace {

TEST(RandomBits, Differ) {
    const std::uint64_t first = random_bits();
    EXPECT_NE(first, random_bits());
    std::uint64_t set = 0;
    for (int draw = 0; draw < 64; ++draw) set |= random_bits();
    EXPECT_EQ(set, UINT64_MAX) << "all bits are random";
}

}  // namespace
}  // namespace wq
