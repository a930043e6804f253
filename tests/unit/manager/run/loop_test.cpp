#include "manager/run/rank_loop.h"

#include <gtest/gtest.h>

namespace wq::manager::run {
namespace {

using namespace std::chrono_literals;

constexpr Instant start{1h};

TEST(BackOff, PausesForAShareOfTheSilence) {
    BackOff back_off(start);
    EXPECT_EQ(back_off.pause(start), BackOff::shortest);
    EXPECT_EQ(back_off.pause(start + 100us), BackOff::shortest + 50us);
    EXPECT_EQ(back_off.pause(start + 10ms), BackOff::shortest + 5ms);
    EXPECT_EQ(back_off.pause(start + 1s), BackOff::longest);
    EXPECT_EQ(back_off.pause(start + 24h), BackOff::longest);
    back_off.moved(start + 24h);
    EXPECT_EQ(back_off.pause(start + 24h), BackOff::shortest);
}

TEST(BackOff, LooksSeldomOnceItIsIdle) {
    const BackOff back_off(start);
    int looks = 0;
    for (Instant now = start; now < start + 1s; now += back_off.pause(now)) ++looks;
    EXPECT_LE(looks, 1s / BackOff::longest + 20);
}

TEST(BackOff, YieldsForAWhileAfterAMessageOfThisMachine) {
    BackOff back_off(start);
    EXPECT_FALSE(back_off.yields(start));
    back_off.moved(start);  // of whoever else
    EXPECT_FALSE(back_off.yields(start));
    const Instant heard = start + 1s;
    back_off.heard_close_by(heard);
    EXPECT_EQ(back_off.yields_until(), heard + BackOff::awake);
    for (const Duration since : {0us, 1us, 199us}) {
        EXPECT_TRUE(back_off.yields(heard + since));
        EXPECT_EQ(back_off.pause(heard + since), 0us);
    }
    EXPECT_FALSE(back_off.yields(heard + BackOff::awake));
    EXPECT_EQ(back_off.pause(heard + BackOff::awake), BackOff::shortest + BackOff::awake / 2);
}

TEST(BackOff, AMessageWhileItYieldsBeginsThatAnew) {
    BackOff back_off(start);
    back_off.heard_close_by(start);
    back_off.heard_close_by(start + 150us);
    EXPECT_TRUE(back_off.yields(start + 300us));
    // What moves otherwise neither lengthens nor ends it.
    back_off.moved(start + 300us);
    EXPECT_TRUE(back_off.yields(start + 300us));
    EXPECT_FALSE(back_off.yields(start + 400us));
}

}  // namespace
}  // namespace wq::manager::run
