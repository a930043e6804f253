#include "net/frames/backoff.h"

#include <gmock/gmock.h>

namespace wq::net::frames {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, StaysBetweenItsBoundsAndTheCeilingDoubles) {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        Backoff backoff(1s, 60s, seed);
        Duration ceiling = 2s;
        for (int i = 0; i < 12; ++i) {
            const Duration wait = backoff.next();
            EXPECT_GE(wait, 1s);
            EXPECT_LE(wait, ceiling);
            ceiling = std::min<Duration>(2 * ceiling, 60s);
        }
    }
}

TEST(Backoff, SpreadsAThousandWorkersOverTheWholeInterval) {
    std::vector<int> tenths(10);
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        Backoff full(10s, 20s, seed);
        ++tenths[static_cast<std::size_t>(std::min<long>(9, (full.next() - 10s) / 1s))];
    }
    for (const int count : tenths) EXPECT_NEAR(count, 100, 50);
}

TEST(Backoff, StartsAnewAfterASuccess) {
    Backoff backoff(1s, 1h, 5);
    for (int i = 0; i < 20; ++i) backoff.next();
    backoff.reset();
    EXPECT_LE(backoff.next(), 2s);
}

TEST(Backoff, OddBoundsAreMadeSense) {
    Backoff same(5s, 5s, 1);
    EXPECT_EQ(same.next(), 5s);
    Backoff upside_down(10s, 5s, 1);
    EXPECT_EQ(upside_down.next(), 10s);
    Backoff none(0s, 0s, 1);
    EXPECT_EQ(none.next(), 0s);
    Backoff long_one(1s, std::chrono::hours(24 * 365 * 200), 1);
    for (int i = 0; i < 100; ++i) EXPECT_GE(long_one.next(), 1s);
}

}  // namespace
}  // namespace wq::net::frames
