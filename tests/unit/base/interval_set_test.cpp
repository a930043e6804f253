#include "base/interval_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace {

using wq::Interval;
using wq::IntervalSet;

std::vector<Interval> ranges_of(const IntervalSet& set) {
    std::vector<Interval> ranges;
    set.for_each([&](Interval range) { ranges.push_back(range); });
    return ranges;
}

TEST(IntervalSet, NeighboursMerge) {
    IntervalSet set;
    set.insert(5);
    set.insert(7);
    EXPECT_EQ(ranges_of(set), (std::vector<Interval>{{5, 6}, {7, 8}}));
    set.insert(6);
    EXPECT_EQ(ranges_of(set), (std::vector<Interval>{{5, 8}}));
    set.insert({0, 5});
    set.insert({8, 10});
    EXPECT_EQ(ranges_of(set), (std::vector<Interval>{{0, 10}}));
    set.insert({2, 4});
    EXPECT_EQ(set.count(), 10U);
    set.insert({12, 14});
    set.insert({16, 18});
    set.insert({3, 17});
    EXPECT_EQ(ranges_of(set), (std::vector<Interval>{{0, 18}}));
    EXPECT_EQ(set.count(), 18U);
}

TEST(IntervalSet, EraseSplits) {
    IntervalSet set;
    set.insert({0, 10});
    set.erase({3, 5});
    EXPECT_EQ(ranges_of(set), (std::vector<Interval>{{0, 3}, {5, 10}}));
    set.erase({2, 6});
    EXPECT_EQ(ranges_of(set), (std::vector<Interval>{{0, 2}, {6, 10}}));
    set.erase({20, 30});
    set.erase({4, 4});
    EXPECT_EQ(set.count(), 6U);
}

TEST(IntervalSet, BeforeIsTheLastRangeBelow) {
    IntervalSet set;
    set.insert({2, 4});
    set.insert({6, 9});
    EXPECT_EQ(set.before(2), std::nullopt);
    EXPECT_EQ(set.before(3), (Interval{2, 3}));
    EXPECT_EQ(set.before(6), (Interval{2, 4}));
    EXPECT_EQ(set.before(7), (Interval{6, 7}));
    EXPECT_EQ(set.before(100), (Interval{6, 9}));
}

TEST(IntervalSet, TakeFrontTakesAtMostOneRange) {
    IntervalSet set;
    set.insert({3, 6});
    set.insert({8, 9});
    EXPECT_EQ(set.take_front(2), (Interval{3, 5}));
    EXPECT_EQ(set.take_front(9), (Interval{5, 6}));
    EXPECT_EQ(set.front(), (Interval{8, 9}));
    EXPECT_EQ(set.take_front(9), (Interval{8, 9}));
    EXPECT_EQ(set.take_front(9), std::nullopt);
    EXPECT_TRUE(set.empty());
}

TEST(IntervalSet, EmptyAndEndlessRangesChangeNothing) {
    IntervalSet set;
    set.insert({4, 4});
    set.insert({5, 4});
    set.insert(~0ULL);
    EXPECT_TRUE(set.empty());
    set.insert({~0ULL - 1, ~0ULL});
    EXPECT_TRUE(set.contains(~0ULL - 1));
    EXPECT_FALSE(set.contains(~0ULL));
}

// Against a set that holds every number.
TEST(IntervalSet, AgreesWithAPlainSet) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        IntervalSet set;
        std::set<std::uint64_t> model;
        for (int step = 0; step < 300; ++step) {
            const std::uint64_t first = random() % 100;
            const Interval range{first, first + random() % 12};
            const bool insert = random() % 2 == 0;
            if (insert) {
                set.insert(range);
            } else {
                set.erase(range);
            }
            for (std::uint64_t value = range.first; value < range.end; ++value) {
                if (insert) {
                    model.insert(value);
                } else {
                    model.erase(value);
                }
            }
            ASSERT_EQ(set.count(), model.size());
            std::vector<std::uint64_t> values;
            std::uint64_t last_end = 0;
            set.for_each([&](Interval held) {
                ASSERT_TRUE(values.empty() || held.first > last_end) << "ranges touch or overlap";
                ASSERT_LT(held.first, held.end);
                last_end = held.end;
                for (std::uint64_t value = held.first; value < held.end; ++value) values.push_back(value);
            });
            ASSERT_EQ(values, std::vector<std::uint64_t>(model.begin(), model.end()));
            for (std::uint64_t value = 0; value < 115; ++value) {
                ASSERT_EQ(set.contains(value), model.contains(value));
            }
        }
    }
}

}  // namespace
