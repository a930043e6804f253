// A host that fails what succeeds elsewhere.
#include "core/host_watch.h"

#include <gtest/gtest.h>

namespace wq::core {
namespace {

using namespace std::chrono_literals;

constexpr AlikeId red{0};
constexpr AlikeId blue{1};

class HostWatchTest : public ::testing::Test {
  protected:
    // Whether it is to be set aside now.
    bool fail(const std::string& host, Duration wall = 100ms, AlikeId alike = red) {
        const auto running = [this](Instant from, Instant to) {
            ++counts_;
            return running_since_ >= from && running_since_ <= to ? running_ : 0;
        };
        const Instant now(clock_);
        verdict_ = watch_.failed({host, alike, wall, now - wall}, now, running);
        return verdict_.has_value();
    }
    // One that began so long ago.
    void succeed(const std::string& host, Duration wall = 0s, AlikeId alike = red) {
        watch_.succeeded({host, alike, wall, Instant(clock_) - wall}, 1);
    }
    // Fails on `bad`, each 100 ms, until it is set aside; so often at most. Returns how often it failed.
    int fail_until_aside(const std::string& bad, int most, const std::function<void()>& meanwhile) {
        for (int failures = 1; failures <= most; ++failures) {
            clock_ += 100ms;
            meanwhile();
            if (fail(bad)) return failures;
        }
        return most + 1;
    }

    HostWatch watch_;
    Duration clock_{1h};
    std::uint64_t running_ = 0;  // on other hosts
    Instant running_since_{clock_};
    int counts_ = 0;  // so often they were asked for
    std::optional<HostWatch::Verdict> verdict_;
};

TEST_F(HostWatchTest, FailsAgainAndAgainWhileOthersSucceed) {
    const int failures = fail_until_aside("bad", 1000, [&] { succeed("good"); });
    EXPECT_LE(failures, 20);
    EXPECT_GE(failures, 15) << "a second at least";
    EXPECT_EQ(verdict_->failed_elsewhere, 0u);
    EXPECT_EQ(verdict_->failures, static_cast<std::uint64_t>(failures));
    EXPECT_EQ(verdict_->each, 100ms);
    EXPECT_EQ(verdict_->time, 1min);
}

// All of them are to fail, on every host: nobody is set aside, however long that goes on.
TEST_F(HostWatchTest, CommandsThatFailEverywhereAreNoFaultOfAHost) {
    running_ = 16;
    EXPECT_EQ(fail_until_aside("one", 10'000, [&] { EXPECT_FALSE(fail("two")); }), 10'001);
}

TEST_F(HostWatchTest, NorAreManyThatFailEverywhere) {
    int turn = 0;
    const auto half = [&] { turn++ % 2 == 0 ? succeed("two") : static_cast<void>(fail("two")); };
    EXPECT_GT(fail_until_aside("one", 1000, half), 25) << "so many in a row are no chance even then";
}

TEST_F(HostWatchTest, ASuccessInBetweenEndsTheRow) {
    for (int i = 0; i < 1000; ++i) {
        clock_ += 100ms;
        succeed("good");
        if (i % 8 == 0) succeed("one");
        EXPECT_FALSE(fail("one"));
    }
}

TEST_F(HostWatchTest, AloneItIsNotJudged) {
    EXPECT_EQ(fail_until_aside("only", 1000, [] {}), 1001);
}

// The first tasks of a list take ten minutes, and the bad host has failed thousands before one of them is
// done.
TEST_F(HostWatchTest, OthersNeedNotHaveEndedYet) {
    running_ = 16;
    EXPECT_LE(fail_until_aside("bad", 1000, [] {}), 30);
    EXPECT_EQ(verdict_->elsewhere, 16u);
}

// That nobody else could do what waits is not found out again with each failure.
TEST_F(HostWatchTest, OneThatWasSparedIsJudgedAgainWhenItHasFailedSomeMore) {
    int verdicts = 0;
    for (int failures = 1; failures <= 1000; ++failures) {
        clock_ += 100ms;
        succeed("good");
        if (!fail("bad")) continue;
        ++verdicts;
        watch_.spared("bad", red);
    }
    EXPECT_GE(verdicts, 1000 / 32);
    EXPECT_LE(verdicts, 1000 / 16);
}

// Each of them costs the others' successes a step. What fails on so many is no fault of theirs.
TEST_F(HostWatchTest, OfSoManyThatFailAtOnceNoFurtherOneIsJudged) {
    const auto name = [](int number) { return "bad" + std::to_string(number); };
    for (int host = 1; host <= 256; ++host) EXPECT_FALSE(fail(name(host)));
    EXPECT_EQ(fail_until_aside("late", 1000, [&] { succeed("good"); }), 1001);
    EXPECT_LE(fail_until_aside("bad256", 1000, [&] { succeed("good"); }), 1000)
        << "the others are, as before";
    succeed("bad1");
    EXPECT_LE(fail_until_aside("late", 1000, [&] { succeed("good"); }), 1000) << "once there is room";
}

// They may only be slower to fail: at first nothing tells which of them is the bad one.
TEST_F(HostWatchTest, ThoseThatFailLaterAreNotTakenForGood) {
    running_ = 16;
    for (int i = 0; i < 10; ++i) {
        clock_ += 90ms;
        EXPECT_FALSE(fail("quick", 80ms)) << "within a second";
    }
    for (int i = 0; i < 100; ++i) {
        clock_ += 90ms;
        EXPECT_FALSE(fail("slow", 1s));
        EXPECT_FALSE(fail("quick", 80ms));
    }
}

// What went wrong may have done so since then, or the list has a stretch that is wrong.
TEST_F(HostWatchTest, WhatBeganBeforeTellsNothing) {
    EXPECT_EQ(fail_until_aside("one", 1000, [&] { succeed("other", 1h); }), 1001);
    running_ = 16;
    running_since_ = Instant(clock_ - 1h);
    EXPECT_EQ(fail_until_aside("two", 1000, [] {}), 1001);
    const Duration began = clock_;
    EXPECT_LE(fail_until_aside("three", 1000, [&] { succeed("other", clock_ - began); }), 30);
}

// As long before as it fails since then.
TEST_F(HostWatchTest, WhatBeganAWhileBeforeTellsSomethingInTime) {
    running_ = 16;
    running_since_ = Instant(clock_ - 20s);
    const int failures = fail_until_aside("bad", 1000, [] {});
    EXPECT_GT(failures, 200);
    EXPECT_LE(failures, 270);
}

// Those that run are counted anew when there is more to be said of the host.
TEST_F(HostWatchTest, ThoseThatRunAreCountedRarely) {
    running_ = 4;
    EXPECT_EQ(fail_until_aside("bad", 10'000, [] {}), 10'001);
    EXPECT_LE(counts_, 40);
}

TEST_F(HostWatchTest, CategoriesAreComparedWithThemselves) {
    EXPECT_EQ(fail_until_aside("gpu", 1000, [&] { succeed("cpu", 0s, blue); }), 1001);
}

TEST_F(HostWatchTest, FailuresThatTakeLongDoNoHarm) {
    for (int i = 0; i < 1000; ++i) {
        clock_ += 10s;
        succeed("good", 5s);
        EXPECT_FALSE(fail("bad", 10s));
    }
}

TEST_F(HostWatchTest, EachTimeItIsForLongerUntilItDoesWell) {
    const auto good = [&] { succeed("good"); };
    for (const auto minutes : {1, 2, 4, 8, 16, 32, 60, 60}) {
        ASSERT_LE(fail_until_aside("bad", 100, good), 30);
        EXPECT_EQ(verdict_->time, minutes * 1min);
        watch_.set_aside("bad");
        EXPECT_FALSE(fail("bad")) << "it begins anew";
    }
    watch_.forget_unless_bad("bad");  // it left, and is back
    ASSERT_LE(fail_until_aside("bad", 100, good), 30);
    EXPECT_EQ(verdict_->time, 1h);
    for (int i = 0; i < 10; ++i) succeed("bad");
    ASSERT_LE(fail_until_aside("bad", 100, good), 30);
    EXPECT_EQ(verdict_->time, 1min);
    watch_.set_aside("bad");
    watch_.forget("bad");  // the user knows better
    ASSERT_LE(fail_until_aside("bad", 100, good), 30);
    EXPECT_EQ(verdict_->time, 1min);
}

}  // namespace
}  // namespace wq::core
