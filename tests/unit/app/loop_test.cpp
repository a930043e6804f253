#include "app/loop.h"

#include <gtest/gtest.h>

namespace wq::app {
namespace {

TEST(BackOff, WaitsForAShareOfTheTimeSinceSomethingMoved) {
    BackOff back_off;
    for (int round = 0; round < 2; ++round) {
        Duration since{0};
        Duration wait = back_off.next();
        EXPECT_EQ(wait, BackOff::shortest);
        while (wait < BackOff::longest) {
            since += wait;
            wait = back_off.next();
            EXPECT_LE(wait, since / 2 + BackOff::shortest);
            EXPECT_LE(wait, BackOff::longest);
        }
        EXPECT_EQ(back_off.next(), BackOff::longest);
        back_off.moved();
    }
}

}  // namespace
}  // namespace wq::app
