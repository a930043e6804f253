#include "node/launcher/shared_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace wq::node::launcher {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> all(last - first + 1);
    std::iota(all.begin(), all.end(), first);
    return all;
}

std::vector<std::uint64_t> begun_of(const BegunOrders& orders, std::uint64_t last) {
    std::vector<std::uint64_t> begun = from_to(1, last);
    std::erase_if(begun, [&](std::uint64_t serial) { return !orders.has(serial); });
    return begun;
}

TEST(BegunOrders, InTheirSequence) {
    BegunOrders orders;
    EXPECT_THAT(begun_of(orders, 3), ElementsAre());
    orders.begin(1, {});
    orders.begin(2, {});
    EXPECT_THAT(begun_of(orders, 4), ElementsAre(1, 2));
}

TEST(BegunOrders, ThoseThatWerePassedOverHaveNotUntilTheyDo) {
    BegunOrders orders;
    orders.begin(1, {});
    orders.begin(4, from_to(2, 3));
    EXPECT_THAT(begun_of(orders, 6), ElementsAre(1, 4));
    orders.begin(6, std::vector<std::uint64_t>{2, 3, 5});
    EXPECT_THAT(begun_of(orders, 7), ElementsAre(1, 4, 6));
    orders.begin(3, from_to(2, 2));
    EXPECT_THAT(begun_of(orders, 7), ElementsAre(1, 3, 4, 6));
    orders.begin(2, {});
    orders.begin(5, {});
    EXPECT_EQ(begun_of(orders, 7), from_to(1, 6));
}

TEST(BegunOrders, ThoseThatWereGivenBackMakeRoom) {
    BegunOrders orders;
    const auto gone = from_to(1, most_passed_over);
    orders.begin(most_passed_over + 1, gone);
    EXPECT_THAT(begun_of(orders, most_passed_over + 1), ElementsAre(most_passed_over + 1));
    const auto waiting = from_to(1001, 1000 + most_passed_over);
    orders.begin(2000, waiting);
    for (const std::uint64_t serial : waiting) EXPECT_FALSE(orders.has(serial)) << serial;
    EXPECT_TRUE(orders.has(2000));
    EXPECT_TRUE(orders.has(most_passed_over + 1));
}

}  // namespace
}  // namespace wq::node::launcher
