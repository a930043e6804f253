// The thread that touches files: what its jobs leave to be done, and when its descriptor says so.
#include <gtest/gtest.h>
#include <poll.h>

#include <stdexcept>

#include "base/background.h"

namespace wq {
namespace {

bool readable(const Background& background, int limit_ms) {
    pollfd descriptor{background.descriptor(), POLLIN, 0};
    return ::poll(&descriptor, 1, limit_ms) == 1;
}

TEST(BackgroundThread, EachEndIsToldOnceAndThenItIsQuiet) {
    BackgroundThread background;
    constexpr int all = 20'000;
    int done = 0;
    for (int posted = 0; posted < all; ++posted)
        background.post([&]() -> Background::Then { return [&] { ++done; }; });
    while (done < all) {
        ASSERT_TRUE(readable(background, 60'000)) << "of " << done << " it had told";
        background.finish();
    }
    EXPECT_FALSE(readable(background, 0)) << "the loop would never sleep again";
    EXPECT_FALSE(background.finish());
    EXPECT_EQ(done, all);
}

TEST(BackgroundThread, WhatAJobThrowsComesOutAndTheOthersGoOn) {
    BackgroundThread background;
    bool done = false;
    background.post([]() -> Background::Then { throw std::runtime_error("no memory"); });
    background.post([&]() -> Background::Then { return [&] { done = true; }; });
    int thrown = 0;
    while (!done) {
        ASSERT_TRUE(readable(background, 60'000));
        try {
            background.finish();
        } catch (const std::runtime_error&) {
            ++thrown;
        }
    }
    EXPECT_EQ(thrown, 1);
}

}  // namespace
}  // namespace wq
