#include "engine/model/ready_times.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace wq::engine::model {
namespace {

constexpr WallMicros second = 1'000'000;

void insert(ReadyTimes& times, Interval tasks, WallMicros at) {
    times.begin_event(at, 1000);
    times.insert(tasks);
}

TEST(ReadyTimesTest, KnowsTheTimesOfRanges) {
    ReadyTimes times;
    EXPECT_EQ(times.find(3), std::nullopt);
    insert(times, {10, 20}, 5 * second);
    insert(times, {30, 40}, 7 * second);
    EXPECT_EQ(times.find(9), std::nullopt);
    EXPECT_EQ(times.find(10), 5 * second);
    EXPECT_EQ(times.find(19), 5 * second);
    EXPECT_EQ(times.find(20), std::nullopt);
    EXPECT_EQ(times.find(35), 7 * second);
    times.erase({15, 33});
    EXPECT_EQ(times.find(14), 5 * second);
    EXPECT_EQ(times.find(15), std::nullopt);
    EXPECT_EQ(times.find(32), std::nullopt);
    EXPECT_EQ(times.find(33), 7 * second);
    times.erase({11, 12});
    EXPECT_EQ(times.find(10), 5 * second);
    EXPECT_EQ(times.find(11), std::nullopt);
    EXPECT_EQ(times.find(12), 5 * second);
    EXPECT_EQ(times.audit(7 * second), std::nullopt);
}

TEST(ReadyTimesTest, NeighboursWithinASecondHaveTheEarlierTime) {
    ReadyTimes times;
    insert(times, {0, 1}, 5 * second);
    insert(times, {1, 2}, 6 * second - 1);
    insert(times, {2, 3}, 6 * second);
    insert(times, {3, 4}, 4 * second);  // the clock went back
    EXPECT_EQ(times.find(1), 5 * second);
    EXPECT_EQ(times.find(2), 6 * second);
    EXPECT_EQ(times.find(3), 4 * second);
}

TEST(ReadyTimesTest, NothingIsNotKept) {
    ReadyTimes times;
    insert(times, {5, 5}, second);
    insert(times, {7, 6}, second);
    EXPECT_EQ(times.find(5), std::nullopt);
    EXPECT_EQ(times.find(6), std::nullopt);
    EXPECT_EQ(times.audit(0), std::nullopt);
}

TEST(ReadyTimesTest, TasksThatTheEventAddsAreLeftOut) {
    ReadyTimes times;
    times.begin_event(5 * second, 7);
    times.insert({5, 9});
    times.insert({20, 30});
    EXPECT_EQ(times.find(6), 5 * second);
    EXPECT_EQ(times.find(7), std::nullopt);
    EXPECT_EQ(times.find(25), std::nullopt);
    EXPECT_EQ(times.audit(5 * second), std::nullopt);
}

TEST(ReadyTimesTest, RandomChangesAreAsThoseOfAMapOfTasks) {
    std::mt19937 random(7);
    const auto below = [&](std::uint64_t end) { return random() % end; };
    ReadyTimes times;
    std::map<std::uint64_t, WallMicros> known;
    for (int step = 0; step < 3000; ++step) {
        const std::uint64_t first = below(60);
        const Interval part{first, first + below(9)};
        if (below(2) == 0) {
            times.erase(part);
            for (std::uint64_t id = part.first; id < part.end; ++id) known.erase(id);
        } else if (known.lower_bound(part.first) == known.lower_bound(part.end)) {
            insert(times, part, step * 2 * second);  // too late for a neighbour
            for (std::uint64_t id = part.first; id < part.end; ++id) known[id] = step * 2 * second;
        }
        ASSERT_EQ(times.audit(step * 2 * second), std::nullopt);
        for (std::uint64_t id = 0; id < 70; ++id) {
            const auto found = known.find(id);
            ASSERT_EQ(times.find(id), found == known.end() ? std::nullopt : std::optional(found->second));
        }
    }
}

}  // namespace
}  // namespace wq::engine::model
