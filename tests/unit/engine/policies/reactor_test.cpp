// How tasks are leased and reported.
#include "engine/policies/reactor.h"

#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class ReactorTest : public RunFixture {};

TEST_F(ReactorTest, RunsAListToItsEnd) {
    join(1, 2);
    add(3);
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    ok(1, 1);
    expect({"1.1 ended for good: exit 0", "lease 2.1 to 1"});
    end_input();
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
    ok(1, 2);
    expect({"2.1 ended for good: exit 0", "finished 0"});
    EXPECT_TRUE(reactor_.finished());
}

TEST_F(ReactorTest, AnEmptyListEndsAtOnce) {
    end_input();
    expect({"finished 0"});
}

TEST_F(ReactorTest, SpreadsOverTheRoomiest) {
    join(1, 2);
    join(2, 4);
    add(4, {}, {});
    expect({"lease 0.1 to 2", "lease 1.1 to 2", "lease 2.1 to 1", "lease 3.1 to 2"});
}

TEST_F(ReactorTest, RetriesByItselfThenFails) {
    join(1);
    add(1, retries(1));
    end_input();
    fail(1, 0, 1);
    fail(1, 0, 2);
    expect({"lease 0.1 to 1", "0.1 ended: exit 1", "lease 0.2 to 1", "0.2 ended for good: exit 1",
            "finished 1"});
}

TEST_F(ReactorTest, StaleReportsAreCountedAndNoMore) {
    join(1);
    join(2);
    add(1);
    expect({"lease 0.1 to 1"});
    ok(2, 0, 1);  // does not hold it
    ok(1, 0, 2);  // another attempt
    ok(1, 7, 1);  // no such task
    ok(9, 0, 1);  // no such worker
    give_back(2, 0, 1);
    ok(1, 0, 1);
    ok(1, 0, 1);  // twice
    dry(1, 4);
    expect({"0.1 ended for good: exit 0"});
    EXPECT_EQ(reactor_.stale_reports(), 7u);
}

TEST_F(ReactorTest, ShortTasksQueueInTheLauncher) {
    join(1);
    add(100);
    expect({"lease 0.1 to 1"});
    ok(1, 0, 1, 10ms);  // two of them cover 20 ms
    expect({"0.1 ended for good: exit 0", "lease 1.1 to 1", "lease 2.1 to 1", "lease 3.1 to 1"});
    ok(1, 1, 1, 10ms);
    expect({"1.1 ended for good: exit 0", "lease 4.1 to 1"});
}

TEST_F(ReactorTest, WhatQueuesIsRecalledForAnIdleWorker) {
    join(1);
    add(3);
    ok(1, 0, 1, 10ms);
    expect({"lease 0.1 to 1", "0.1 ended for good: exit 0", "lease 1.1 to 1", "lease 2.1 to 1"});
    join(2);
    for (int beat = 0; beat < 4; ++beat) {  // heartbeats of others do not delay it
        idle(15ms);
        hear(1);
    }
    expect({"recall 1 from 1"});
    idle(300ms);  // it is not asked again before it has answered
    give_back(1, 2);
    expect({"2 goes back", "lease 2.2 to 2"});
    ok(1, 1);
    expect({"1.1 ended for good: exit 0"});
}

TEST_F(ReactorTest, AWorkerThatAnsweredARecallByReportingGetsAQueueAgain) {
    join(1);
    add(3);
    ok(1, 0, 1, 10ms);
    join(2);
    idle(60ms);
    expect({"lease 0.1 to 1", "0.1 ended for good: exit 0", "lease 1.1 to 1", "lease 2.1 to 1",
            "recall 1 from 1"});
    leave(2);
    add(2);
    ok(1, 1, 1, 10ms);
    expect({"1.1 ended for good: exit 0", "lease 3.1 to 1", "lease 4.1 to 1"});
}

TEST_F(ReactorTest, SumsOfWhatWorkersSayStayWithinBounds) {
    join(1, 3);
    add(3);
    Outcome forever;
    forever.wall_us = INT64_MAX / 2;
    for (const std::uint64_t task : {0u, 1u, 2u}) report(1, task, 1, forever);
    take([](const std::string&) {});
    EXPECT_EQ(reactor_.stats().time_execute, INT64_MAX);
    EXPECT_EQ(reactor_.stats().time_execute_good, INT64_MAX);
}

TEST_F(ReactorTest, PinnedTasksWaitForTheirWorker) {
    join(1);
    join(2);
    add(2, pinned({2}));
    add(1, pinned({1, 2}));
    expect({"lease 0.1 to 2", "lease 2.1 to 1"});
    ok(2, 0);
    expect({"0.1 ended for good: exit 0", "lease 1.1 to 2"});
}

TEST_F(ReactorTest, AHundredStuckShapesDoNotHideTheTaskOfAnIdleWorker) {
    join(1);
    add(1, pinned({1}));
    for (int i = 0; i < 100; ++i) {
        Shape shape = pinned({1});
        shape.category = CategoryId(static_cast<std::uint32_t>(i));
        add(1, shape);
    }
    expect({"lease 0.1 to 1"});
    join(2);
    add(1, pinned({2}));
    expect({"lease 101.1 to 2"});
}

TEST_F(ReactorTest, AManyCoredTaskIsNotPassedOverForEver) {
    join(1, 2);
    add(300);
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    ok(1, 0);
    expect({"0.1 ended for good: exit 0", "lease 2.1 to 1"});
    add(1, cores(2));  // behind the rest, so nothing overtakes it yet
    Shape later;
    later.category = CategoryId(1);
    add(1000, later);
    for (std::uint64_t task = 1; task < 299; ++task) {
        ok(1, task);
        const std::string ended = std::to_string(task) + ".1 ended for good: exit 0";
        const std::string lease = "lease " + std::to_string(task + 2) + ".1 to 1";
        if (task + 2 < 300)
            expect({ended.c_str(), lease.c_str()});
        else
            break;
    }
    expect({"298.1 ended for good: exit 0", "lease 301.1 to 1"});
    // Now smaller ones overtake it, 200 times; then a worker is reserved for it.
    std::uint64_t running[] = {299, 301};
    std::uint64_t next = 302;
    for (int passed = 1; passed < 200; ++passed) {
        ok(1, running[0]);
        const std::string ended = std::to_string(running[0]) + ".1 ended for good: exit 0";
        const std::string lease = "lease " + std::to_string(next) + ".1 to 1";
        expect({ended.c_str(), lease.c_str()});
        running[0] = std::exchange(running[1], next++);
    }
    ok(1, running[0]);
    ok(1, running[1]);
    const std::string first = std::to_string(running[0]) + ".1 ended for good: exit 0";
    const std::string second = std::to_string(running[1]) + ".1 ended for good: exit 0";
    expect({first.c_str(), second.c_str(), "lease 300.1 to 1"});
}

TEST_F(ReactorTest, AWorkerKeptFreeForASuspectThatItHasNoTimeForAnyMoreServesOthers) {
    options({.max_losses = 2, .silence = 1h, .rejoin_limit = 1h});
    join(1);
    Shape slow;
    slow.min_time = 60s;
    add(1, slow);
    join(2, 2, false, 70s);
    add(2);
    lose(1);  // its last chance is to run alone, so worker 2 is reserved
    expect({"lease 0.1 to 1", "lease 1.1 to 2", "lease 2.1 to 2",
            "0.1 ended: worker lost: worker 1 on node1: gone"});
    ok(2, 1);
    add(1);
    expect({"1.1 ended for good: exit 0"});
    pass(20s);
    hear(2);
    expect({"lease 3.1 to 2"});
}

TEST_F(ReactorTest, ASpecialWorkerBehindManyOthersIsFound) {
    for (std::uint32_t id = 1; id <= 100; ++id) join(id, 8);
    event(WorkerJoined{WorkerId(200), "gpu", {4, 4000, 0, 1}, {}, false});
    Shape shape;
    shape.needs.gpus = 1;
    add(1, shape);
    expect({"lease 0.1 to 200"});
}

TEST_F(ReactorTest, ATaskTooLargeForAllIsNamedAndTheRestRuns) {
    options({.expected_workers = 2});
    join(1, 2);
    add(1, cores(8), {{1, false}});
    add(1, {}, {{1, true}});
    add(1);
    expect({"lease 2.1 to 1"});  // worker 2 may be larger
    join(2, 4);
    expect({"skip 0: needs 8 cores; the largest worker has 4; let the task ask for less",
            "skip 1: task 0 of its group failed"});
    end_input();
    ok(1, 2);
    expect({"2.1 ended for good: exit 0", "finished 1"});
}

TEST_F(ReactorTest, WhereRanksShareANodeFewerOfThemWouldBeLarger) {
    options({.expected_workers = 2});
    add(1, cores(8));
    for (const std::uint32_t worker : {1U, 2U})
        event(WorkerJoined{WorkerId(worker), "node", {4, 4000, 0, 0}, {}, false});
    expect(
        {"skip 0: needs 8 cores; the largest worker has 4; "
         "start fewer ranks per node, which makes larger workers, or let the task ask for less"});
}

TEST_F(ReactorTest, APoolThatIsNeverCompleteIsJudgedAfterTenSeconds) {
    options({.silence = 100s, .expected_workers = 2});
    join(1, 2);
    add(1, pinned({7}));
    end_input();
    idle(9s);
    expect({});
    idle(1s);
    expect({"skip 0: worker 7 is not there or too small for 1 core; let the task name other workers, or none",
            "finished 1"});
}

TEST_F(ReactorTest, WithoutAnyWorkerNothingIsGivenUpButTheRun) {
    add(2);
    end_input();
    idle(10s);
    expect({"warning: no worker has joined", "finished 69"});
    EXPECT_EQ(reactor_.ledger().count(TaskState::ready), 2u);
}

TEST_F(ReactorTest, AWorkerMayComeBack) {
    options({.rejoin_limit = 5s});
    join(1);
    add(1, pinned({1}));
    leave(1);
    expect({"lease 0.1 to 1", "0.1 ended: worker lost: worker 1 on node1: bye"});
    idle(4s);
    join(1);
    expect({"lease 0.2 to 1"});
    leave(1);
    idle(5s);
    expect({"0.2 ended: worker lost: worker 1 on node1: bye", "warning: no worker is left", "finished 69"});
}

TEST_F(ReactorTest, MinimumTimeKeepsATaskOffAWorkerThatLeavesSoon) {
    join(1, 1, false, 60s);
    Shape shape;
    shape.min_time = 2min;
    add(1, shape);
    expect({});  // neither dispatched nor skipped: the next job has more time
    EXPECT_EQ(reactor_.waiting_for(), "a worker with room and time for 1 ready task");
    join(2, 1, false, 10min);
    expect({"lease 0.1 to 2"});
}

TEST_F(ReactorTest, DoneTasksOfAnEarlierRunOpenWhatWaitsForThem) {
    join(1, 4);
    add(1, {}, {{1, false}}, ids(0, 1));
    add(1, {}, {{1, true}});
    add(1, {}, {{2, false}}, {}, ids(2, 3));
    add(1, {}, {{2, true}});
    expect({"lease 1.1 to 1", "skip 3: task 2 of its group failed"});
    end_input();
    ok(1, 1);
    expect({"1.1 ended for good: exit 0", "finished 1"});
}

TEST_F(ReactorTest, AHundredMillionTasksOfOneRangeAreOneStep) {
    join(1);
    std::vector<Action> actions;  // without the audit, which visits every task
    reactor_.on(TasksAdded{{TaskId(0), 100'000'000, cores(2), {}}, {}, {}}, now(), actions);
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(std::get<Skipped>(actions[0]).tasks, ids(0, 100'000'000));
}

}  // namespace
}  // namespace wq::engine::policies
