// A host where tasks fail that succeed elsewhere.
#include "engine/model/shunned_hosts.h"

#include <gtest/gtest.h>

namespace wq::engine::model {
namespace {

using namespace std::chrono_literals;

constexpr AlikeId red{0};
constexpr AlikeId blue_host{1};

class FailingHostsTest : public ::testing::Test {
  protected:
    // Whether it is to be excluded now.
    bool fail(const std::string& host, Duration wall = 100ms, AlikeId alike = red) {
        const auto running = [this](Instant from, Instant to) {
            ++counts_;
            return running_since_ >= from && running_since_ <= to ? running_ : 0;
        };
        const Instant now(clock_);
        verdict_ = watch_.failed({host, alike, wall, now - wall}, now, running);
        return verdict_.has_value();
    }
    // A task that began `wall` ago.
    void succeed(const std::string& host, Duration wall = 0s, AlikeId alike = red) {
        watch_.succeeded({host, alike, wall, Instant(clock_) - wall}, 1);
    }
    // Fails on `bad`, each 100 ms, until it is excluded, at most `most` times. Returns the number of
    // failures.
    int fail_until_aside(const std::string& bad, int most, const std::function<void()>& meanwhile) {
        for (int failures = 1; failures <= most; ++failures) {
            clock_ += 100ms;
            meanwhile();
            if (fail(bad)) return failures;
        }
        return most + 1;
    }

    FailingHosts watch_;
    Duration clock_{1h};
    std::uint64_t running_ = 0;  // on other hosts
    Instant running_since_{clock_};
    int counts_ = 0;  // how often they were requested
    std::optional<FailingHosts::Verdict> verdict_;
};

TEST_F(FailingHostsTest, FailsAgainAndAgainWhileOthersSucceed) {
    const int failures = fail_until_aside("bad", 1000, [&] { succeed("good"); });
    EXPECT_LE(failures, 20);
    EXPECT_GE(failures, 15) << "a second at least";
    EXPECT_EQ(verdict_->failed_elsewhere, 0u);
    EXPECT_EQ(verdict_->failures, static_cast<std::uint64_t>(failures));
    EXPECT_EQ(verdict_->each, 100ms);
    EXPECT_EQ(verdict_->time, 1min);
}

// They fail on every host: no host is excluded, however long that continues.
TEST_F(FailingHostsTest, CommandsThatFailEverywhereAreNoFaultOfAHost) {
    running_ = 16;
    EXPECT_EQ(fail_until_aside("one", 10'000, [&] { EXPECT_FALSE(fail("two")); }), 10'001);
}

TEST_F(FailingHostsTest, NorAreManyThatFailEverywhere) {
    int turn = 0;
    const auto half = [&] { turn++ % 2 == 0 ? succeed("two") : static_cast<void>(fail("two")); };
    EXPECT_GT(fail_until_aside("one", 1000, half), 25) << "so many in a row are no chance even then";
}

TEST_F(FailingHostsTest, ASuccessInBetweenEndsTheRow) {
    for (int i = 0; i < 1000; ++i) {
        clock_ += 100ms;
        succeed("good");
        if (i % 8 == 0) succeed("one");
        EXPECT_FALSE(fail("one"));
    }
}

TEST_F(FailingHostsTest, AloneItIsNotJudged) {
    EXPECT_EQ(fail_until_aside("only", 1000, [] {}), 1001);
}

// The first tasks of a list take ten minutes, and the bad host has failed thousands before one of them is
// done.
TEST_F(FailingHostsTest, OthersNeedNotHaveEndedYet) {
    running_ = 16;
    EXPECT_LE(fail_until_aside("bad", 1000, [] {}), 30);
    EXPECT_EQ(verdict_->elsewhere, 16u);
}

// Not every failure repeats the check whether another host could run the waiting tasks.
TEST_F(FailingHostsTest, OneThatWasSparedIsJudgedAgainWhenItHasFailedSomeMore) {
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

// Each failing host adds a step to successes elsewhere. If tasks fail on so many hosts, the hosts are not the
// cause.
TEST_F(FailingHostsTest, OfSoManyThatFailAtOnceNoFurtherOneIsJudged) {
    const auto name = [](int number) { return "bad" + std::to_string(number); };
    for (int host = 1; host <= 256; ++host) EXPECT_FALSE(fail(name(host)));
    EXPECT_EQ(fail_until_aside("late", 1000, [&] { succeed("good"); }), 1001);
    EXPECT_LE(fail_until_aside("bad256", 1000, [&] { succeed("good"); }), 1000)
        << "the others are, as before";
    succeed("bad1");
    EXPECT_LE(fail_until_aside("late", 1000, [&] { succeed("good"); }), 1000) << "once there is room";
}

// They may only be slower to fail: at first nothing shows which host is bad.
TEST_F(FailingHostsTest, ThoseThatFailLaterAreNotTakenForGood) {
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

// The cause may have appeared since then, or a section of the list is wrong.
TEST_F(FailingHostsTest, WhatBeganBeforeTellsNothing) {
    EXPECT_EQ(fail_until_aside("one", 1000, [&] { succeed("other", 1h); }), 1001);
    running_ = 16;
    running_since_ = Instant(clock_ - 1h);
    EXPECT_EQ(fail_until_aside("two", 1000, [] {}), 1001);
    const Duration began = clock_;
    EXPECT_LE(fail_until_aside("three", 1000, [&] { succeed("other", clock_ - began); }), 30);
}

// It counts once the host has failed for as long.
TEST_F(FailingHostsTest, WhatBeganAWhileBeforeTellsSomethingInTime) {
    running_ = 16;
    running_since_ = Instant(clock_ - 20s);
    const int failures = fail_until_aside("bad", 1000, [] {});
    EXPECT_GT(failures, 200);
    EXPECT_LE(failures, 270);
}

// Running tasks are counted again only when the host has failed more.
TEST_F(FailingHostsTest, ThoseThatRunAreCountedRarely) {
    running_ = 4;
    EXPECT_EQ(fail_until_aside("bad", 10'000, [] {}), 10'001);
    EXPECT_LE(counts_, 40);
}

TEST_F(FailingHostsTest, CategoriesAreComparedWithThemselves) {
    EXPECT_EQ(fail_until_aside("gpu", 1000, [&] { succeed("cpu", 0s, blue_host); }), 1001);
}

TEST_F(FailingHostsTest, FailuresThatTakeLongDoNoHarm) {
    for (int i = 0; i < 1000; ++i) {
        clock_ += 10s;
        succeed("good", 5s);
        EXPECT_FALSE(fail("bad", 10s));
    }
}

TEST_F(FailingHostsTest, EachTimeItIsForLongerUntilItDoesWell) {
    const auto good = [&] { succeed("good"); };
    for (const auto minutes : {1, 2, 4, 8, 16, 32, 60, 60}) {
        ASSERT_LE(fail_until_aside("bad", 100, good), 30);
        EXPECT_EQ(verdict_->time, minutes * 1min);
        watch_.note_exclusion("bad");
        EXPECT_FALSE(fail("bad")) << "it begins anew";
    }
    watch_.forget_unless_bad("bad");  // it left and rejoined
    ASSERT_LE(fail_until_aside("bad", 100, good), 30);
    EXPECT_EQ(verdict_->time, 1h);
    for (int i = 0; i < 10; ++i) succeed("bad");
    ASSERT_LE(fail_until_aside("bad", 100, good), 30);
    EXPECT_EQ(verdict_->time, 1min);
    watch_.note_exclusion("bad");
    watch_.forget("bad");  // the user overrides
    ASSERT_LE(fail_until_aside("bad", 100, good), 30);
    EXPECT_EQ(verdict_->time, 1min);
}

}  // namespace
}  // namespace wq::engine::model
