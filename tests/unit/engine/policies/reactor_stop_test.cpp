// Ending a run early.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class StopTest : public RunFixture {};

TEST_F(StopTest, LetsRunningTasksFinishWithinTheGrace) {
    join(1, 2);
    add(3);
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    stop(StopReason::interrupted, 10s);
    expect({"recall 2 from 1"});
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});  // no further dispatch
    fail(1, 1);
    expect({"1.1 ended for good: exit 1", "finished 75 stopped"});
}

TEST_F(StopTest, KillsAfterTheGraceAndWaitsForTheReports) {
    join(1);
    add(1);
    stop(StopReason::out_of_time, 3s);
    expect({"lease 0.1 to 1", "recall 1 from 1"});
    idle(3s);
    expect({"kill all on 1"});
    end(1, 0, 1, Ending::killed);
    expect({"0.1 ended: killed", "finished 75 stopped"});
    EXPECT_EQ(reactor_.ledger().count(TaskState::ready), 1u);  // for a resume
}

TEST_F(StopTest, DoesNotWaitForAWorkerThatDoesNotAnswer) {
    join(1);
    add(1);
    stop(StopReason::interrupted, 0s);
    expect({"lease 0.1 to 1", "recall 1 from 1", "kill all on 1"});
    idle(499ms);
    expect({});
    idle(1ms);
    expect({"finished 75 stopped"});
}

TEST_F(StopTest, ASecondOneIsAtOnce) {
    join(1);
    add(1);
    stop(StopReason::interrupted, 10s);
    stop();
    expect({"lease 0.1 to 1", "recall 1 from 1", "kill all on 1"});
    lose(1);
    expect({"0.1 ended: worker lost: worker 1 on node1: gone", "finished 75 stopped"});
}

TEST_F(StopTest, ARetryIsLeftForTheResume) {
    join(1);
    add(1, retries(1));
    stop();
    fail(1, 0);
    expect({"lease 0.1 to 1", "recall 1 from 1", "0.1 ended: exit 1", "finished 75 stopped"});
    EXPECT_EQ(reactor_.ledger().count(TaskState::failed), 0u);
}

TEST_F(StopTest, HaltsOnTheFirstFinalFailure) {
    options({.halt_on_failure = true});
    join(1, 2);
    add(3, retries(1));
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    fail(1, 0);
    expect({"0.1 ended: exit 1", "lease 0.2 to 1"});
    fail(1, 0, 2);
    expect({"0.2 ended for good: exit 1", "recall 1 from 1", "kill all on 1"});
    end(1, 1, 1, Ending::killed);
    expect({"1.1 ended: killed", "finished 1 stopped"});
}

constexpr const char* out_of_time =
    "warning: no worker has enough time left for the remaining tasks (min-time)";

Shape at_least(Duration time) {
    Shape shape;
    shape.min_time = time;
    return shape;
}

TEST_F(StopTest, ComesAsSoonAsNoWorkerHasTheTimeThatTheRestNeeds) {
    join(1, 1, false, 60s);
    add(1, at_least(2min), {{1, false}});
    add(1, {}, {{1, true}});  // waits for it
    add(1);
    end_input();
    expect({"lease 2.1 to 1"});
    ok(1, 2);
    expect({"2.1 ended for good: exit 0", out_of_time, "finished 75 stopped"});
    EXPECT_EQ(reactor_.ledger().count(TaskState::ready), 1u);  // for a resume
    EXPECT_EQ(reactor_.ledger().count(TaskState::blocked), 1u);
}

TEST_F(StopTest, ComesAlsoIfTheRestWasLostWithAWorker) {
    options({.silence = 1h, .expected_workers = 2});
    join(1, 1, false, 100s);
    join(2, 1, false, 100s);
    add(1, at_least(60s));
    add(1);
    end_input();
    expect({"lease 0.1 to 1", "lease 1.1 to 2"});
    pass(50s);
    lose(1);
    expect({"0.1 ended: worker lost: worker 1 on node1: gone"});
    ok(2, 1);
    expect({"1.1 ended for good: exit 0", out_of_time, "finished 75 stopped"});
}

TEST_F(StopTest, IsPutOffWhileTheDiskHasTrouble) {
    options({.silence = 1h});
    join(1, 1, false, 60s);
    add(1, at_least(2min));
    add(1);
    end_input();
    event(StorageTrouble{true});
    ok(1, 1);
    expect({"lease 1.1 to 1", "1.1 ended for good: exit 0"});  // the end can be written later
    event(StorageTrouble{false});
    expect({out_of_time, "finished 75 stopped"});
}

TEST_F(StopTest, AWorkerWithEnoughTimeMayStillJoin) {
    options({.silence = 1h, .wait_for_fitting = true});
    join(1, 1, false, 160s);
    add(2, at_least(2min));
    end_input();
    expect({"lease 0.1 to 1"});
    idle(50s);
    expect({});
    ok(1, 0);  // now it is too late for the other one
    idle(6s);
    expect({"0.1 ended for good: exit 0",
            "warning: tasks wait for a worker with at least 2m00s left (min-time)"});
    join(2, 1, false, 60s);
    idle(6s);
    expect({});
    join(3, 1, false, 10min);
    expect({"lease 1.1 to 3"});
}

TEST_F(StopTest, AWorkerThatIsTooSmallHasNoTimeEither) {
    options({.silence = 1h, .wait_for_fitting = true});
    join(1, 4, false, 60s);
    join(2, 1);
    Shape large = cores(4);
    large.min_time = 2min;
    add(1, large);
    idle(6s);
    expect({"warning: tasks wait for a worker with at least 2m00s left (min-time)"});
}

TEST_F(StopTest, AStopAfterTheLastTaskChangesNothing) {
    join(1);
    add(1);
    end_input();
    stop();
    ok(1, 0);
    expect({"lease 0.1 to 1", "recall 1 from 1", "0.1 ended for good: exit 0", "finished 0"});
}

TEST_F(StopTest, StorageTroubleHoldsTasksBack) {
    join(1, 2);
    add(1);
    event(StorageTrouble{true});
    add(1);
    ok(1, 0);
    expect({"lease 0.1 to 1", "0.1 ended for good: exit 0"});
    EXPECT_EQ(reactor_.waiting_for(), "storage: results cannot be written yet");
    event(StorageTrouble{false});
    expect({"lease 1.1 to 1"});
}

TEST_F(StopTest, FiguresCountWhatHappened) {
    join(1, 2);
    join(2, 4);
    add(5, {}, {});
    ok(2, 0);
    take([](const std::string&) {});
    const ManagerStats stats = reactor_.stats();
    EXPECT_EQ(stats.workers_connected, 2);
    EXPECT_EQ(stats.tasks_submitted, 5);
    EXPECT_EQ(stats.tasks_done, 1);
    EXPECT_EQ(stats.tasks_running, 4);
    EXPECT_EQ(stats.committed_cores, 4);
    EXPECT_EQ(stats.total_cores, 6);
    EXPECT_EQ(stats.max_cores, 4);
    EXPECT_EQ(stats.min_memory, 2000);
}

TEST_F(StopTest, AbleAreTheWorkersThatHoldTheMostThatAWaitingTaskNeeds) {
    join(1, 2);
    join(2, 4);
    join(3, 8);
    EXPECT_EQ(reactor_.stats().workers_able, 3) << "nothing waits";
    Shape many_cores, much_memory;
    many_cores.needs.cores = 4;
    much_memory.needs.memory_mb = 8000;
    for (int n = 0; n < 2; ++n) add(3, many_cores);
    EXPECT_EQ(reactor_.stats().workers_able, 2);
    add(20, much_memory);
    EXPECT_EQ(reactor_.stats().workers_able, 1) << "4 cores and 8000 MB of memory";
    take([](const std::string&) {});
}

}  // namespace
}  // namespace wq::engine::policies
