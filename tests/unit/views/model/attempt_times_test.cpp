#include "views/model/attempt_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "unit/views/model/random_run.h"

namespace wq::views::model {
namespace {

RunAttempt whole() {
    RunAttempt attempt;
    attempt.submitted = 10, attempt.ready = 20, attempt.dispatched = 30, attempt.inputs_there = 40;
    attempt.started = 50, attempt.ended = 60, attempt.outputs_there = 70, attempt.received = 80;
    return attempt;
}

TEST(AttemptTimes, AreMovedBetweenWhatTheManagerNoted) {
    RunAttempt attempt = whole();
    attempt.started = 5'000, attempt.ended = 6'000;  // by a clock that is ahead
    attempt.ready = 35;
    bring_into_order(attempt);
    EXPECT_EQ(attempt.ready, 30);
    EXPECT_EQ(attempt.inputs_there, 40);
    EXPECT_EQ(attempt.started, 80);
    EXPECT_EQ(attempt.ended, 80);
    attempt = whole();
    attempt.started = 3, attempt.ended = 4;  // behind
    bring_into_order(attempt);
    EXPECT_EQ(attempt.started, 40);
    EXPECT_EQ(attempt.ended, 40);
    EXPECT_EQ(attempt.outputs_there, 70);
}

TEST(AttemptTimes, ThatAreNotKnownStayUnknown) {
    RunAttempt attempt;
    attempt.dispatched = 30, attempt.ended = -5;
    bring_into_order(attempt);
    EXPECT_EQ(attempt.submitted, 0);
    EXPECT_EQ(attempt.started, 0);
    EXPECT_EQ(attempt.ended, 0);
    EXPECT_EQ(attempt.received, 0);
}

TEST(AttemptTimes, ArePhases) {
    const PhaseTimes times = phases_of(whole(), 1000);
    EXPECT_EQ(times.begin, (std::array<WallMicros, 6>{30, 40, 50, 60, 70, 80}));
    EXPECT_EQ(times.at(30), Phase::files_in);
    EXPECT_EQ(times.at(59), Phase::runs);
    EXPECT_EQ(times.at(60), Phase::files_out);
    EXPECT_EQ(times.at(80), Phase::over);
    EXPECT_EQ(times.next_change(30), 40);
    RunAttempt runs = whole();
    runs.ended = runs.outputs_there = runs.received = 0;
    EXPECT_EQ(phases_of(runs, 1000).begin, (std::array<WallMicros, 6>{30, 40, 50, 1000, 1000, 1000}));
    RunAttempt never_started = whole();
    never_started.started = never_started.ended = never_started.outputs_there = 0;
    EXPECT_EQ(phases_of(never_started, 1000).begin, (std::array<WallMicros, 6>{30, 40, 80, 80, 80, 80}));
    RunAttempt never_dispatched;
    never_dispatched.received = 80;
    EXPECT_TRUE(phases_of(never_dispatched, 1000).is_empty());
    RunAttempt range = whole();
    range.calls = 5;
    EXPECT_EQ(phases_of(range, 1000).begin, (std::array<WallMicros, 6>{50, 50, 50, 80, 80, 80}));
}

TEST(AttemptTimes, NeverFallWhateverTheClocksSay) {
    std::mt19937 random(7);
    int attempts = 0;
    for (int run = 0; run < 1000; ++run) {
        for (RunAttempt& attempt : testing::random_run(random, testing::Clocks::jumping).attempts) {
            const PhaseTimes times = phases_of(attempt, 50);
            ASSERT_TRUE(std::is_sorted(times.begin.begin(), times.begin.end()));
            EXPECT_GE(times.begin.front(), 0);
            const WallMicros received = std::clamp<WallMicros>(attempt.received, 0, latest_time);
            bring_into_order(attempt);
            EXPECT_EQ(attempt.received, received);
            attempts += 1;
        }
    }
    EXPECT_GT(attempts, 1000);
}

}  // namespace
}  // namespace wq::views::model
