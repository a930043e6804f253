// Lost workers, and which task is to blame.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class LossTest : public RunFixture {};

TEST_F(LossTest, ALostWorkersTaskRunsAgainElsewhere) {
    join(1);
    join(2);
    add(2);
    expect({"lease 0.1 to 1", "lease 1.1 to 2"});
    lose(1);
    expect({"0.1 ended: worker lost: worker 1 on node1: gone"});
    ok(2, 1);
    expect({"1.1 ended for good: exit 0", "lease 0.2 to 2"});
    ok(1, 0, 1);  // arrives late
    EXPECT_EQ(reactor_.stale_reports(), 1u);
}

TEST_F(LossTest, AGoodbyeBlamesNobody) {
    options({.max_losses = 1});
    join(1);
    join(2);
    add(1);
    leave(1);
    expect({"lease 0.1 to 1", "0.1 ended: worker lost: worker 1 on node1: bye", "lease 0.2 to 2"});
    lose(2);
    expect({"0.2 ended for good: worker lost: worker 2 on node2: gone; lost 1 worker"});
}

TEST_F(LossTest, SuspectsRunOneAtATimePerWorkerAndTheirLastChanceAlone) {
    options({.silence = 100s, .rejoin_limit = 100s});
    join(1);
    add(1);
    lose(1);
    expect({"lease 0.1 to 1", "0.1 ended: worker lost: worker 1 on node1: gone"});
    join(2, 4);
    expect({"lease 0.2 to 2"});
    add(1);
    expect({"lease 1.1 to 2"});  // a neighbour
    lose(2);
    IntervalSet lost;
    take([&](const std::string& line) { lost.insert(line[0] == '0' ? 0 : 1); });
    EXPECT_EQ(lost, ids(0, 2));
    join(3, 4);
    expect({"lease 0.3 to 3"});  // its last chance: alone, though there is room
    add(1);
    expect({});
    join(4, 4);
    expect({"lease 1.2 to 4", "lease 2.1 to 4"});
    lose(3);
    expect({"0.3 ended for good: worker lost: worker 3 on node3: gone; lost 3 workers"});
}

TEST_F(LossTest, ATaskMayHaveALimitOfItsOwn) {
    options({.max_losses = 0, .wait_for_fitting = true});
    Shape twice;
    twice.max_tries = 2;
    join(1, 2);
    add(1, twice);
    add(1);
    EXPECT_EQ(reactor_.ledger().shapes(), 1u) << "it is no part of their shape";
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    lose(1);
    take([](const std::string& line) { EXPECT_THAT(line, ::testing::HasSubstr(".1 ended: worker lost")); });
    join(2, 2);
    expect({"lease 0.2 to 2"});  // its last chance, alone; the other has unlimited tries
    lose(2);
    expect({"0.2 ended for good: worker lost: worker 2 on node2: gone; lost 2 workers"});
    for (std::uint32_t worker = 3; worker < 20; ++worker) {
        join(worker, 2);
        lose(worker);
    }
    join(20, 2);
    ok(20, 1, 19);
    std::string last;
    take([&](const std::string& line) { last = line; });
    EXPECT_EQ(last, "1.19 ended for good: exit 0");
}

// Retries are for the task's own failures; the two counts are separate.
TEST_F(LossTest, LossesAndExhaustedMemoryCountTogetherAndAreToldApart) {
    options({.max_losses = 0, .wait_for_fitting = true});
    Shape five;
    five.max_tries = 6;
    join(1);
    add(1, five);
    for (Attempt attempt = 1; attempt <= 3; ++attempt) end(1, 0, attempt, Ending::out_of_memory);
    expect({"lease 0.1 to 1", "0.1 ended: out of memory", "lease 0.2 to 1", "0.2 ended: out of memory",
            "lease 0.3 to 1", "0.3 ended: out of memory", "lease 0.4 to 1"});
    lose(1);
    join(2);
    lose(2);
    join(3);
    expect({"0.4 ended: worker lost: worker 1 on node1: gone", "lease 0.5 to 2",
            "0.5 ended: worker lost: worker 2 on node2: gone", "lease 0.6 to 3"});
    end(3, 0, 6, Ending::out_of_memory);
    expect({"0.6 ended for good: out of memory: tried 6 times"});
    EXPECT_TRUE(last_ended_.out_of_tries);
    EXPECT_EQ(reactor_.stats().tasks_exhausted_attempts, 4);
    EXPECT_EQ(reactor_.stats().tasks_lost_attempts, 2);
    EXPECT_EQ(reactor_.stats().tasks_failed, 1);
}

TEST_F(LossTest, ATaskThatNeedsMoreThanItSaidAndOneWithoutALimitAreNotTriedAgain) {
    options({.max_losses = 0, .wait_for_fitting = true});
    Shape named;
    named.needs.memory_mb = 100;
    named.max_tries = 6;
    join(1);
    add(1, named);
    end(1, 0, 1, Ending::out_of_memory);
    add(1);
    end(1, 1, 1, Ending::out_of_memory);
    expect({"lease 0.1 to 1", "0.1 ended for good: out of memory", "lease 1.1 to 1",
            "1.1 ended for good: out of memory"});
    EXPECT_FALSE(last_ended_.out_of_tries);
    EXPECT_EQ(reactor_.stats().tasks_lost_attempts, 0);
}

TEST_F(LossTest, AFailingExitCodeIsNoRetry) {
    options({.max_losses = 0, .wait_for_fitting = true});
    Shape five;
    five.max_tries = 6;
    join(1);
    add(2, five);
    fail(1, 0);
    end(1, 1, 1, Ending::signalled);
    expect(
        {"lease 0.1 to 1", "0.1 ended for good: exit 1", "lease 1.1 to 1", "1.1 ended for good: signal 0"});
}

TEST_F(LossTest, AWorkerIsKeptFreeForALastChance) {
    options({.max_losses = 2});
    join(1, 2);
    join(2);
    add(1, pinned({2}));
    join(2);  // again: its leases are lost
    expect({"lease 0.1 to 2", "0.1 ended: worker lost: worker 2 on node2: joined anew", "lease 0.2 to 2"});
    add(4);
    expect({"lease 1.1 to 1", "lease 2.1 to 1"});
    lose(2);
    expect({"0.2 ended for good: worker lost: worker 2 on node2: gone; lost 2 workers"});
    join(3);
    expect({"lease 3.1 to 3"});
    lose(3);
    expect({"3.1 ended: worker lost: worker 3 on node3: gone"});
    ok(1, 1);
    expect({"1.1 ended for good: exit 0"});  // no new task: worker 1 is emptied for task 3
    ok(1, 2);
    expect({"2.1 ended for good: exit 0", "lease 3.2 to 1"});
    ok(1, 3, 2);
    expect({"3.2 ended for good: exit 0", "lease 4.1 to 1"});
}

TEST_F(LossTest, ALauncherThatDiedIsALossWithoutTheWorkersLeaving) {
    options({.max_losses = 2});
    join(1);
    add(1);
    end(1, 0, 1, Ending::worker_lost);
    end(1, 0, 2, Ending::worker_lost);
    expect({"lease 0.1 to 1", "0.1 ended: worker lost", "lease 0.2 to 1",
            "0.2 ended for good: worker lost: ; lost 2 workers"});
}

TEST_F(LossTest, SilenceIsALoss) {
    join(1);
    join(2);
    add(1);
    expect({"lease 0.1 to 1"});
    for (int second = 0; second < 9; ++second) {
        idle(1s);
        hear(2);
    }
    expect({});
    idle(1s);
    expect({"dismiss 1: silent for 10 s", "0.1 ended: worker lost: worker 1 on node1: silent for 10 s",
            "lease 0.2 to 2"});
}

TEST_F(LossTest, AManagerThatStoodStillDoesNotTakeItsWorkersForDead) {
    join(1);
    join(2);
    add(2);
    expect({"lease 0.1 to 1", "lease 1.1 to 2"});
    pass(1h);
    tick();
    hear(1);
    hear(2);
    expect({});
    idle(9s);
    expect({});
    idle(2s);
    take([](const std::string&) {});
    EXPECT_TRUE(reactor_.workers().empty());
}

TEST_F(LossTest, AfterAManagerStoodStillWhoHadBeenSilentHasAllTheTimeAgain) {
    join(1);
    add(1);
    expect({"lease 0.1 to 1"});
    idle(9s);
    pass(13s);
    tick();
    idle(9s);
    expect({});
    idle(1s);
    expect({"dismiss 1: silent for 10 s", "0.1 ended: worker lost: worker 1 on node1: silent for 10 s",
            "warning: no worker is left", "finished 69"});
}

}  // namespace
}  // namespace wq::engine::policies
