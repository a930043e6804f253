#include "base/time.h"

#include <gtest/gtest.h>

namespace wq {
namespace {

TEST(TimeText, OfUtcAndOfTheZoneOfThisMachine) {
    constexpr WallMicros when = 1'764'413'296'999'999;
    EXPECT_EQ(utc_time(when, "%Y-%m-%dT%H:%M:%SZ"), "2025-11-29T10:48:16Z");
    EXPECT_EQ(local_time(when, "%s"), "1764413296");
}

}  // namespace
}  // namespace wq
