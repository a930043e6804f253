// Since when each attempt could have been dispatched.
#include <gtest/gtest.h>

#include "run_fixture.h"

namespace wq::engine::policies {
namespace {

using std::chrono::seconds;

class ReadyTest : public RunFixture {
  protected:
    static constexpr WallMicros second = 1'000'000;
    // After the first event, in seconds.
    std::int64_t ready() const { return (last_ended_.ready_us - begin_) / second; }
    std::int64_t dispatched() const { return (last_ended_.dispatched_us - begin_) / second; }
    void wait_for_workers() {
        ReactorOptions waits;
        waits.wait_for_fitting = true;
        options(waits);
    }
    void drop_actions() {
        take([](const std::string&) {});
    }
    const WallMicros begin_ = now().wall;
};

TEST_F(ReadyTest, APlainTaskIsReadyWhenItIsSubmitted) {
    add(3);
    pass(seconds(4));
    join(1);
    pass(seconds(5));
    ok(1, 0);
    EXPECT_EQ(ready(), 0);
    EXPECT_EQ(dispatched(), 4);
    pass(seconds(5));
    ok(1, 1);
    EXPECT_EQ(ready(), 0);
    EXPECT_EQ(dispatched(), 9);
    pass(seconds(2));
    add(1);
    ok(1, 2);
    pass(seconds(1));
    ok(1, 3);
    EXPECT_EQ(ready(), 11 + 5);
    drop_actions();
}

TEST_F(ReadyTest, TasksBehindABarrierAreReadyWhenItOpens) {
    add(2);
    barrier();
    add(1000);
    pass(seconds(3));
    join(1, 2);
    pass(seconds(4));
    ok(1, 0);
    EXPECT_EQ(ready(), 0);
    pass(seconds(2));
    ok(1, 1);
    pass(seconds(5));
    ok(1, 2);
    EXPECT_EQ(ready(), 9);
    EXPECT_EQ(dispatched(), 9);
    ok(1, 3);
    pass(seconds(6));
    ok(1, 4);
    EXPECT_EQ(ready(), 9);
    EXPECT_EQ(dispatched(), 14);
    drop_actions();
}

// Its time is that of the group, not of the room on a worker.
TEST_F(ReadyTest, ATaskOfASequentialGroupIsReadyWhenThePrecedingOneEnds) {
    add(1, {}, {{1, true}});
    add(1, {}, {{1, true}});
    add(1, {}, {{1, true}});
    join(1, 1);
    add(1);
    pass(seconds(10));
    ok(1, 0);
    EXPECT_EQ(ready(), 0);
    pass(seconds(10));
    ok(1, 1);
    EXPECT_EQ(ready(), 10);
    EXPECT_EQ(dispatched(), 10);
    pass(seconds(5));
    ok(1, 2);
    EXPECT_EQ(ready(), 20);
    pass(seconds(5));
    ok(1, 3);
    EXPECT_EQ(ready(), 0);
    drop_actions();
}

TEST_F(ReadyTest, ATaskThatMayNotStartEarlierIsReadyThen) {
    Shape later;
    later.not_before = begin_ + 30 * second;
    add(1, later);
    Shape past;
    past.not_before = begin_ - 30 * second;
    add(1, past);
    join_watched(1, 2);
    idle(seconds(40));
    ok(1, 1);
    EXPECT_EQ(ready(), 0);
    ok(1, 0);
    EXPECT_EQ(ready(), 30);
    EXPECT_EQ(dispatched(), 30);
    drop_actions();
}

TEST_F(ReadyTest, AnotherAttemptIsReadyWhenTheOneBeforeHasEnded) {
    add(1, retries(1));
    join(1);
    pass(seconds(7));
    fail(1, 0);
    EXPECT_EQ(ready(), 0);
    EXPECT_FALSE(last_ended_.final);
    pass(seconds(3));
    ok(1, 0, 2);
    EXPECT_EQ(ready(), 7);
    EXPECT_EQ(dispatched(), 7);
    drop_actions();
}

TEST_F(ReadyTest, AnAttemptAfterALostWorkerIsReadyWhenItWasLost) {
    wait_for_workers();
    add(1);
    join(1);
    pass(seconds(7));
    lose(1);
    EXPECT_EQ(ready(), 0);
    pass(seconds(20));
    join(2);
    pass(seconds(1));
    ok(2, 0, 2);
    EXPECT_EQ(ready(), 7);
    EXPECT_EQ(dispatched(), 27);
    drop_actions();
}

TEST_F(ReadyTest, ALeaseThatComesBackUnstartedIsReadyAgain) {
    add(1);
    join(1);
    pass(seconds(4));
    give_back(1, 0);
    pass(seconds(4));
    ok(1, 0, 2);
    EXPECT_EQ(ready(), 4);
    drop_actions();
}

TEST_F(ReadyTest, TicketsAreReadyFromTheirSubmission) {
    ReactorOptions options;
    options.seal_batches = true;
    this->options(options);
    add(1000);
    pass(seconds(2));
    join(1, 1, true);
    pass(seconds(3));
    ok(1, 0);
    EXPECT_EQ(ready(), 0);
    // Those that nobody claimed were ready all the time.
    dry(1, 0, ids(5, 6));
    pass(seconds(3));
    ok(1, 5);
    EXPECT_EQ(ready(), 0);
    drop_actions();
}

TEST_F(ReadyTest, ATaskThatExpiresWasReady) {
    wait_for_workers();
    Shape short_lived;
    short_lived.not_after = begin_ + 10 * second;
    add(1, short_lived);
    idle(seconds(20));
    EXPECT_EQ(last_ended_.outcome.ending, Ending::expired);
    EXPECT_EQ(last_ended_.ready_us, begin_);
    drop_actions();
}

TEST_F(ReadyTest, ATaskThatExpiresBehindABarrierWasNeverReady) {
    wait_for_workers();
    add(1);
    barrier();
    Shape short_lived;
    short_lived.not_after = begin_ + 10 * second;
    add(1, short_lived);
    idle(seconds(20));
    EXPECT_EQ(last_ended_.task, TaskId(1));
    EXPECT_EQ(last_ended_.outcome.ending, Ending::expired);
    EXPECT_EQ(last_ended_.ready_us, 0);
    drop_actions();
}

}  // namespace
}  // namespace wq::engine::policies
