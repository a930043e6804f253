// The manager's explanation of a task that does not run.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WhyTest : public RunFixture {
  protected:
    void SetUp() override { options({.max_losses = 0, .expected_workers = 0, .wait_for_fitting = true}); }
    std::string why(std::uint64_t task) const { return reactor_.why(TaskId(task), now()); }
};

TEST_F(WhyTest, NobodyIsThereOrNobodyIsLargeEnough) {
    EXPECT_EQ(why(0), "not now: the manager has not read it yet");
    add(1, cores(8));
    EXPECT_EQ(why(0), "not now: no worker is connected");
    join_watched(1, 4);
    EXPECT_EQ(why(0), "not now: no worker can hold it: it needs 8 cores; the largest worker has 4");
    join_watched(2, 8);
    expect({"lease 0.1 to 2"});
    EXPECT_EQ(why(0), "it was sent to worker 2 on node2 (attempt 1, 8 cores, 8000 MB memory)");
    away(2);
    EXPECT_THAT(why(0), HasSubstr("disconnected"));
    back(2, {{TaskId(0), 1}});
    ok(2, 0);
    expect({"0.1 ended for good: exit 0"});
    EXPECT_EQ(why(0), "it has ended");
}

TEST_F(WhyTest, ThoseThatAreLargeEnoughAreBusyOrLeave) {
    join_watched(1, 2);
    add(2, cores(2));
    expect({"lease 0.1 to 1"});
    EXPECT_EQ(why(1), "not now: it will get 2 cores, 2000 MB memory; 1 worker that could run it is busy");
    drain(1);
    EXPECT_EQ(why(1), "not now: 1 worker that could run it is leaving or disconnected");
    join_watched(2, 1);
    join_watched(3, 2, {"special"});
    expect({"lease 1.1 to 3"});
    Shape special = cores(1);
    special.features = {"gold"};
    add(1, special);
    EXPECT_THAT(why(2), StartsWith("not now: no worker can hold it: it needs feature gold"));
    take([](const std::string&) {});
}

TEST_F(WhyTest, OthersComeFirstOrItsTimeHasNotCome) {
    join_watched(1, 4);
    Shape later = cores(1);
    later.not_before = now().wall + 90'000'000;
    add(1, later);
    EXPECT_EQ(why(0), "not now: it starts in 1m30s at the earliest");
    add(1);
    expect({"lease 1.1 to 1"});
    barrier();
    add(1);
    EXPECT_THAT(why(2), StartsWith("not now: it waits for earlier tasks"));
}

TEST_F(WhyTest, WhatIsQueuedOnAWorkerIsNotSaidToRunThere) {
    join_watched(1, 2);
    add(1);
    expect({"lease 0.1 to 1"});
    ok(1, 0, 1, 1ms);  // short tasks may queue
    expect({"0.1 ended for good: exit 0"});
    add(4);
    expect({"lease 1.1 to 1", "lease 2.1 to 1", "lease 3.1 to 1", "lease 4.1 to 1"});
    for (const std::uint64_t runs : {1U, 2U})
        EXPECT_THAT(why(runs), StartsWith("it was sent to worker 1 on node1 (attempt 1"));
    for (const std::uint64_t queued : {3U, 4U})
        EXPECT_THAT(why(queued),
                    StartsWith("it is queued on worker 1 on node1, whose running tasks leave it no room"));
    take([](const std::string&) {});
}

TEST_F(WhyTest, AnAttemptThatNeverStartedIsNotCounted) {
    join_watched(1, 1);
    add(1, retries(1));
    expect({"lease 0.1 to 1"});
    give_back(1, 0);
    expect({"0 goes back", "lease 0.2 to 1"});
    EXPECT_THAT(why(0), HasSubstr("(attempt 1, "));
    fail(1, 0, 2);
    EXPECT_EQ(last_ended_.attempt - last_ended_.unstarted, 1U) << "as the records count";
    expect({"0.2 ended: exit 1", "lease 0.3 to 1"});
    EXPECT_EQ(reactor_.why(TaskId(0), now(), 5),
              "it was sent to worker 1 on node1 (attempt 7, 1 core, 1000 MB memory)");
    fail(1, 0, 3);
    expect({"0.3 ended for good: exit 1"});
    EXPECT_EQ(last_ended_.attempt - last_ended_.unstarted, 2U);
}

TEST_F(WhyTest, ItsHostsAreBlocked) {
    join_watched(1, 4);
    event(HostBlocked{"node1", std::nullopt});
    add(1);
    EXPECT_THAT(why(0), HasSubstr("all hosts that could run it are blocked: node1"));
    take([](const std::string&) {});
}

TEST_F(WhyTest, TheRunIsBeingStopped) {
    join_watched(1, 1);
    add(2);
    expect({"lease 0.1 to 1"});
    stop();
    EXPECT_EQ(why(1), "never: the run is being stopped");
    take([](const std::string&) {});
}

}  // namespace
}  // namespace wq::engine::policies
