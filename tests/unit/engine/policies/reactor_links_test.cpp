// Disconnected workers, and draining ones.
#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {
namespace {

using namespace std::chrono_literals;

class LinksTest : public RunFixture {
  protected:
    void SetUp() override { options({.max_losses = 2, .rejoin_limit = 2h}); }
};

TEST_F(LinksTest, AWatchedWorkersSilenceIsNoLoss) {
    join_watched(1);
    add(1);
    expect({"lease 0.1 to 1"});
    idle(1h);
    expect({});
    EXPECT_EQ(reactor_.wakeup(), std::nullopt);
}

TEST_F(LinksTest, WhoIsAwayKeepsItsLeasesAndGetsNothing) {
    join_watched(1, 2);
    add(1);
    expect({"lease 0.1 to 1"});
    away(1);
    add(1);
    expect({});
    EXPECT_EQ(reactor_.stats().workers_connected, 0);
    EXPECT_EQ(reactor_.stats().workers_busy, 0);
    EXPECT_EQ(reactor_.stats().total_cores, 0);
    EXPECT_EQ(reactor_.stats().tasks_on_workers, 1);
    EXPECT_EQ(reactor_.waiting_for(), "1 task to end; 1 worker disconnected, may reconnect");
    idle(59s);
    expect({});
    back(1, {{TaskId(0), 1}});
    expect({"lease 1.1 to 1"});
    EXPECT_EQ(reactor_.stats().workers_connected, 1);
    EXPECT_EQ(reactor_.stats().total_cores, 2);
    idle(1h);
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
}

TEST_F(LinksTest, WhatQueuesAtAWorkerQueuesThereAlsoWhileItIsAway) {
    join_watched(1, 2);
    add(7);
    ok(1, 0, 1, 10ms);  // so that queueing pays
    const auto running = [&] { return reactor_.stats().tasks_running; };
    ASSERT_GT(reactor_.stats().tasks_on_workers, 2);
    EXPECT_EQ(running(), 2);
    away(1);
    EXPECT_EQ(running(), 2);
    EXPECT_GT(reactor_.stats().tasks_on_workers, 2);
    std::vector<std::pair<TaskId, Attempt>> holding;
    for (const TaskId task : reactor_.workers().find(WorkerId(1))->leases) holding.emplace_back(task, 1);
    back(1, holding);
    drain(1);
    EXPECT_EQ(running(), 2);
    take([](const std::string&) {});
}

TEST_F(LinksTest, WhoStaysAwayIsLostWithItsLeases) {
    join_watched(1);
    add(1);
    away(1);
    idle(61s);
    expect({"lease 0.1 to 1", "dismiss 1: cut; did not reconnect within 60 s",
            "0.1 ended: worker lost: worker 1 on node1: cut; did not reconnect within 60 s"});
    EXPECT_EQ(reactor_.stats().workers_lost, 1);
    EXPECT_TRUE(reactor_.workers().empty());
    back(1, {{TaskId(0), 1}});  // too late: its leases are forgotten
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    join_watched(2);
    expect({"lease 0.2 to 2"});
}

TEST_F(LinksTest, WhoIsAwayMayBeGivenMoreTimeAndNeverLess) {
    join_watched(1);
    add(1);
    expect({"lease 0.1 to 1"});
    away(1, 15s);
    away(1, 60s);
    away(1, 15s);
    idle(59s);
    expect({});
    idle(2s);
    expect({"dismiss 1: cut; did not reconnect within 60 s",
            "0.1 ended: worker lost: worker 1 on node1: cut; did not reconnect within 60 s"});
}

TEST_F(LinksTest, AManagerThatStoodStillGivesThoseAwayTimeToComeBack) {
    join_watched(1);
    add(1);
    expect({"lease 0.1 to 1"});
    away(1);
    pass(1h);
    tick();
    back(1, {{TaskId(0), 1}});
    expect({});
}

TEST_F(LinksTest, WithoutATimeToBeAwayACutIsALoss) {
    join_watched(1);
    add(1);
    away(1, 0s);
    expect({"lease 0.1 to 1", "0.1 ended: worker lost: worker 1 on node1: cut"});
}

TEST_F(LinksTest, WhatABackWorkerDoesNotNameGoesBackWithoutBlame) {
    join_watched(1, 2);
    add(2);
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    away(1);
    back(1, {{TaskId(1), 1}});
    expect({"0 goes back", "lease 0.2 to 1"});
    away(1);
    back(1, {{TaskId(1), 1}});
    away(1);
    back(1, {{TaskId(1), 1}});
    // As often as it takes: it never counts as a loss of the task.
    expect({"0 goes back", "lease 0.3 to 1", "0 goes back", "lease 0.4 to 1"});
    ok(1, 0, 1);  // late, from before
    EXPECT_EQ(reactor_.stale_reports(), 1u);
    ok(1, 0, 4);
    expect({"0.4 ended for good: exit 0"});
}

TEST_F(LinksTest, WhatIsNotLeasedToABackWorkerIsKilledThere) {
    join_watched(1, 4);
    join_watched(2, 1);
    add(1);
    expect({"lease 0.1 to 1"});
    away(1);
    back(1, {{TaskId(0), 1}, {TaskId(0), 2}, {TaskId(7), 1}, {TaskId(0), 1}});
    expect({"kill 0 attempt 2 on 1", "kill 7 attempt 1 on 1"});
}

TEST_F(LinksTest, BackWithoutHavingBeenAwayIsTheSame) {
    join_watched(1);
    add(1);
    expect({"lease 0.1 to 1"});
    back(1, {});
    expect({"0 goes back", "lease 0.2 to 1"});
}

TEST_F(LinksTest, CancelledWhileAwayIsKilledWhenBack) {
    join_watched(1);
    add(1);
    expect({"lease 0.1 to 1"});
    away(1);
    cancel(0);
    expect({"cancelled 0"});
    back(1, {{TaskId(0), 1}});
    expect({"kill 0 attempt 1 on 1"});
}

TEST_F(LinksTest, AReservationDoesNotWaitForOneThatIsAwayOrDrains) {
    join_watched(1, 2);
    join_watched(2, 2);
    for (const bool cut : {true, false}) {
        const std::uint64_t first = reactor_.ledger().size();
        add(2);
        add(1, cores(2));
        add(1000);
        for (std::uint64_t id = first; id < first + 500; ++id)
            for (const std::uint32_t worker : {1u, 2u}) ok(worker, id);
        take([](const std::string&) {});
        cut ? away(1) : drain(1);
    }
    EXPECT_EQ(reactor_.audit(), std::nullopt);
}

TEST_F(LinksTest, ADrainingWorkerEndsWhatItHasAndGetsNoMore) {
    join_watched(1, 2);
    add(2);
    expect({"lease 0.1 to 1", "lease 1.1 to 1"});
    drain(1);
    add(1);
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
    EXPECT_EQ(reactor_.stats().workers_connected, 1);
    idle(10min);  // nothing to recall for
    expect({});
    join_watched(2);
    expect({"lease 2.1 to 2"});
    leave(1);  // with task 1 unfinished
    expect({"1.1 ended: worker lost: worker 1 on node1: bye"});
    ok(2, 2);
    expect({"2.1 ended for good: exit 0", "lease 1.2 to 2"});
    EXPECT_EQ(reactor_.stats().workers_lost, 0);
}

TEST_F(LinksTest, ADrainingWorkerThatIsCutStaysDraining) {
    join_watched(1, 2);
    add(1);
    expect({"lease 0.1 to 1"});
    drain(1);
    away(1);
    back(1, {{TaskId(0), 1}});
    add(1);
    expect({});
    ok(1, 0);
    expect({"0.1 ended for good: exit 0"});
}

TEST_F(LinksTest, TasksAreNotSkippedWhileAWorkerThatCouldHoldThemIsAway) {
    options({.expected_workers = 2});
    join_watched(1, 4);
    join_watched(2, 1);
    away(1);
    add(1, cores(4));
    expect({});
    idle(61s);
    take([](const std::string& line) {
        EXPECT_TRUE(line.starts_with("dismiss 1") || line.starts_with("skip 0: needs 4 cores")) << line;
    });
    EXPECT_EQ(reactor_.ledger().count(TaskState::skipped), 1u);
}

TEST_F(LinksTest, AMemberOfABatchThatIsBackHasGivenItsAccount) {
    options({.expected_workers = 2, .seal_batches = true});
    join(1, 1, true);
    join(2, 1, true);
    add(40);
    expect({"seal batch 1: 0-39"});
    away(2);
    dry(1, 1, ids(0, 1));
    expect({});  // the other one's claims are unknown
    cancel(8);
    expect({"revoke batch 1", "kill 8 attempt 1 on 1", "cancelled 8"});
    back(2, {{TaskId(7), 1}, {TaskId(8), 1}});
    expect({"kill 8 attempt 1 on 2", "batch 1 over", "seal batch 2: 1-6,9-39"});
    ok(2, 7);  // as the lease that it became
    expect({"7.1 ended for good: exit 0"});
}

TEST_F(LinksTest, AMemberOfABatchThatStaysAwayIsLostWithItsTickets) {
    options({.expected_workers = 2, .seal_batches = true});
    join(1, 1, true);
    join(2, 1, true);
    add(40);
    expect({"seal batch 1: 0-39"});
    for (std::uint64_t id = 0; id < 39; ++id) ok(1, id);
    take([](const std::string&) {});
    away(2);
    dry(1, 1);
    for (int second = 0; second < 62; ++second) {
        idle(1s);
        hear(1);
    }
    expect({"revoke batch 1", "dismiss 2: cut; did not reconnect within 60 s",
            "39.1 ended: worker lost: worker 2 on node2: cut; did not reconnect within 60 s", "batch 1 over",
            "lease 39.2 to 1"});
}

TEST_F(LinksTest, WhoWasAwayWhenTheRunWasStoppedIsToldWhenItIsBack) {
    join_watched(1);
    join_watched(2);
    add(2);
    expect({"lease 0.1 to 1", "lease 1.1 to 2"});
    away(1);
    stop(StopReason::interrupted, 10s);
    expect({"recall 1 from 2"});
    back(1, {{TaskId(0), 1}});
    expect({"recall 1 from 1"});
    away(1);
    stop();
    expect({"kill all on 2"});
    back(1, {{TaskId(0), 1}});
    expect({"kill all on 1"});
    end(1, 0, 1, Ending::killed);
    end(2, 1, 1, Ending::killed);
    expect({"0.1 ended: killed", "1.1 ended: killed", "finished 75 stopped"});
}

class MixedPoolTest : public RunFixture {
  protected:
    // A large MPI rank, whose heartbeats arrive, and TCP workers of other sizes.
    void SetUp() override {
        options({.silence = 1h, .expected_workers = 0, .wait_for_fitting = true, .seal_batches = true});
    }
    std::uint64_t leases_of(std::uint32_t worker) const {
        return reactor_.workers().find(WorkerId(worker))->leases.size();
    }
};

TEST_F(MixedPoolTest, WhatQueuesAtARankIsRecalledForAnIdleWorkerOverTcp) {
    join(1, 2);
    add(10);
    ok(1, 0, 1, 4ms);
    take([](const std::string&) {});
    EXPECT_EQ(leases_of(1), 9u);  // two run
    join_watched(2, 4);
    idle(60ms);
    expect({"recall 4 from 1"});
    for (const std::uint64_t id : {9u, 8u, 7u, 6u}) give_back(1, id);
    expect({"9 goes back", "lease 9.2 to 2", "8 goes back", "lease 8.2 to 2", "7 goes back", "lease 7.2 to 2",
            "6 goes back", "lease 6.2 to 2"});
}

TEST_F(MixedPoolTest, NoMoreIsRecalledThanIdlesHoweverLateTheAnswer) {
    for (const std::uint32_t busy : {1u, 2u}) join(busy, 2);
    add(24);
    for (const std::uint32_t busy : {1u, 2u})
        ok(busy, reactor_.workers().find(WorkerId(busy))->leases.begin()->value(), 1, 4ms);
    take([](const std::string&) {});
    ASSERT_GT(leases_of(1), 8u);
    ASSERT_GT(leases_of(2), 8u);
    join_watched(3, 4);
    idle(20s);  // several checks
    std::uint64_t recalled = 0;
    take([&](const std::string& line) {
        ASSERT_EQ(line.substr(0, 7), "recall ");
        recalled += std::stoull(line.substr(7));
    });
    EXPECT_EQ(recalled, 4u);
}

TEST_F(MixedPoolTest, ALargeTaskFillsSeveralIdleCores) {
    join(1, 4);
    add(13, cores(2));
    ok(1, 0, 1, 4ms);
    take([](const std::string&) {});
    join_watched(2, 4);
    idle(60ms);
    expect({"recall 2 from 1"});
}

TEST_F(MixedPoolTest, WhatQueuesOverTcpIsRecalledForAnIdleRank) {
    join_watched(1);
    add(7);
    ok(1, 0, 1, 4ms);
    take([](const std::string&) {});
    join(2, 2, true);
    idle(60ms);
    expect({"recall 2 from 1"});
}

TEST_F(MixedPoolTest, NothingIsRecalledFromThoseAwayNorForThem) {
    join_watched(1);
    add(7);
    ok(1, 0, 1, 4ms);
    take([](const std::string&) {});
    join_watched(2);
    away(1);
    idle(1s);
    expect({});
    back(1, {{TaskId(1), 1}, {TaskId(2), 1}});
    take([&](const std::string& line) { EXPECT_FALSE(line.starts_with("recall ")) << line; });
    away(2);
    idle(1s);
    expect({});
}

TEST_F(MixedPoolTest, SealedWorkIsTakenBackForAnIdleWorkerOverTcp) {
    join(1, 2, true);
    add(100);
    expect({"seal batch 1: 0-99"});
    range_done(1, 1, ids(0, 40), 200'000'000);
    expect({"ended 0-39 on 1"});
    join_watched(2, 2);
    expect({"revoke batch 1"});
    dry(1, 1, ids(40, 42));
    // The worker's share of the requeued tasks is leased; the rank's is sealed again.
    std::string seal;
    take([&](const std::string& line) {
        if (line.starts_with("seal")) seal = line;
    });
    EXPECT_EQ(leases_of(2), 2u) << seal;
    EXPECT_EQ(leases_of(1), 2u) << "what it held";
}

TEST_F(MixedPoolTest, SealedWorkIsNotTakenBackForOneThatIsAwayOrDrains) {
    join_watched(2, 2);
    join_watched(3, 2);
    drain(2);
    away(3);
    join(1, 2, true);
    add(100);
    expect({"seal batch 1: 0-99"});
    back(3);
    expect({"revoke batch 1"});
}

}  // namespace
}  // namespace wq::engine::policies
